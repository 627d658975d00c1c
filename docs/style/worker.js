/* The search runs in a worker, which browsers refuse to a page that is opened as a file. There it runs in a hidden frame. */
if (location.protocol === "file:") {
  window.Worker = class {
    onmessage = null;
    onerror = null;
    #frame = document.createElement("iframe");
    #waiting = [];
    #ready = false;

    constructor(address) {
      this.#frame.hidden = true;
      document.body.append(this.#frame);
      const inner = this.#frame.contentWindow;
      inner.postMessage = (data) => setTimeout(() => this.onmessage?.({ data }));
      inner.addEventListener("error", (event) => this.onerror?.(event));
      const script = inner.document.createElement("script");
      script.src = new URL(address, location.href).href;
      script.onload = () => {
        this.#ready = true;
        this.#waiting.splice(0).forEach((data) => this.postMessage(data));
      };
      script.onerror = (event) => this.onerror?.(event);
      inner.document.body.append(script);
    }

    postMessage(data) {
      if (!this.#ready) {
        this.#waiting.push(data);
        return;
      }
      const inner = this.#frame.contentWindow;
      setTimeout(() => inner.dispatchEvent(new inner.MessageEvent("message", { data })));
    }

    terminate() {
      this.#frame.remove();
    }
  };
}
