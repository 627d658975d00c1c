"""Which models were trained on which syntax, by what stands in their names.

Names come in every spelling (`Qwen/Qwen2.5-7B-Instruct`, `qwen2.5:7b`, `accounts/x/models/qwen2p5-7b`), so a row is
only the words that tell: a family, and where it matters a version. What one maker's models write changes from version
to version, so that rows of one maker go from the special to the general.
"""

from __future__ import annotations

_SEPARATORS = str.maketrans({"_": "-", "/": "-", ":": "-", " ": "-", "@": "-"})

TRAINED: tuple[tuple[str, str], ...] = (
    ("claude", "xml"),
    ("gpt-oss", "harmony"),
    # Fine-tunes before what they were made of.
    ("functionary", "functionary"),
    ("xlam", "xlam"),
    ("toolace", "pythonic"),
    ("watt-tool", "pythonic"),
    ("firefunction", "phi4-mini"),
    ("deephermes", "hermes"),
    ("hermes", "hermes"),
    ("nemotron-3", "qwen3-coder"),
    ("nemotron3", "qwen3-coder"),
    ("nemotron", "nemotron"),
    ("deepseek*v4", "deepseek-v4"),
    ("deepseek*v3.2-exp", "deepseek-v31"),
    ("deepseek*v3p2-exp", "deepseek-v31"),
    ("deepseek*v3.2", "deepseek-v32"),
    ("deepseek*v3p2", "deepseek-v32"),
    ("deepseek*v3.1", "deepseek-v31"),
    ("deepseek*v3p1", "deepseek-v31"),
    ("deepseek*v3", "deepseek-v3"),
    ("deepseek*r1", "deepseek-v3"),
    ("qwen3-coder", "qwen3-coder"),
    ("qwen3coder", "qwen3-coder"),
    ("qwen3.5", "qwen3-coder"),
    ("qwen3.6", "qwen3-coder"),
    ("qwen3p5", "qwen3-coder"),
    ("qwen3p6", "qwen3-coder"),
    ("qwen-3.5", "qwen3-coder"),
    ("qwen-3.6", "qwen3-coder"),
    ("qwen", "hermes"),
    ("qwq", "hermes"),
    ("smollm3", "hermes"),
    ("bielik", "hermes"),
    ("reka", "hermes"),
    ("trinity", "hermes"),
    ("longcat", "longcat"),
    ("ernie-4.5", "ernie45"),
    ("ernie4.5", "ernie45"),
    ("ernie-4p5", "ernie45"),
    ("mimo-vl", "hermes"),
    ("mimo", "qwen3-coder"),
    ("nanbeige", "qwen3-coder"),
    ("step-3.5", "qwen3-coder"),
    ("step3.5", "qwen3-coder"),
    ("step-3p5", "qwen3-coder"),
    ("step3p5", "qwen3-coder"),
    ("stepfun3.", "qwen3-coder"),
    ("step-3.7", "qwen3-coder"),
    ("step3", "step3"),
    ("step-3", "step3"),
    ("seed-oss", "seed-oss"),
    ("llama-4", "pythonic"),
    ("llama4", "pythonic"),
    ("llama-3", "llama3-json"),
    ("llama3", "llama3-json"),
    ("meta-llama-3", "llama3-json"),
    ("devstral", "mistral-v11"),
    ("magistral", "mistral-v11"),
    ("ministral-3", "mistral-v11"),
    ("ministral3", "mistral-v11"),
    ("ministral*2512", "mistral-v11"),
    ("mistral-small-3.2", "mistral-v11"),
    ("mistral-small3.2", "mistral-v11"),
    ("mistral-small*2506", "mistral-v11"),
    ("mistral-small-4", "mistral-v11"),
    ("mistral-medium-3", "mistral-v11"),
    ("mistral-large-3", "mistral-v11"),
    ("mistral-large*2512", "mistral-v11"),
    ("mistral", "mistral-v3"),
    ("mixtral", "mistral-v3"),
    ("ministral", "mistral-v3"),
    ("pixtral", "mistral-v3"),
    ("kimi-k3", "kimi-k3"),
    ("kimi", "kimi-k2"),
    ("k2-horizon", "k2-horizon"),
    ("glm*4.5", "glm45"),
    ("glm*4p5", "glm45"),
    ("glm*4.6", "glm45"),
    ("glm*4p6", "glm45"),
    ("glm*4.7", "glm47"),
    ("glm*4p7", "glm47"),
    ("glm-5", "glm47"),
    ("glm5", "glm47"),
    ("ling-3", "glm47"),
    ("ring-3", "glm47"),
    ("spark-2.5", "glm47"),
    ("spark2.5", "glm47"),
    ("spark2p5", "glm47"),
    ("laguna", "poolside-v1"),
    ("poolside", "poolside-v1"),
    ("minimax*m3", "minimax-m3"),
    ("minimax*m2", "minimax-m2"),
    ("minimax*m1", "minimax-m1"),
    ("granite-20b-functioncalling", "granite-20b-fc"),
    ("granite-20b-fc", "granite-20b-fc"),
    ("granite-4", "granite4"),
    ("granite4", "granite4"),
    ("granite", "granite"),
    ("phi-4-mini", "phi4-mini"),
    ("phi4-mini", "phi4-mini"),
    ("jamba", "jamba"),
    ("hunyuan-3", "hy-v3"),
    ("hunyuan3", "hy-v3"),
    ("hy-v3", "hy-v3"),
    ("hy3", "hy-v3"),
    ("hunyuan", "hunyuan-a13b"),
    ("apriel", "apriel"),
    ("intern-s1", "interns1"),
    ("interns1", "interns1"),
    ("internlm", "internlm2"),
    ("command-a-plus", "cohere4"),
    ("cohere2moe", "cohere4"),
    ("cohere2-moe", "cohere4"),
    ("command-a", "cohere3"),
    ("command-r7b", "cohere3"),
    ("command-r", "command-r"),
    ("apertus", "apertus"),
    ("gigachat", "gigachat3"),
    ("solar-open", "solar"),
    ("inkling", "inkling"),
    ("plamo-3", "plamo3"),
    ("plamo3", "plamo3"),
    ("muse-glimmer", "muse-glimmer"),
    ("dots.llm", "dots"),
    ("dots", "dots"),
    ("minicpm5", "minicpm5"),
    ("minicpm-5", "minicpm5"),
    ("olmo-3", "olmo3"),
    ("olmo3", "olmo3"),
    ("lfm2", "lfm2"),
    ("functiongemma", "functiongemma"),
    ("gemma-4", "gemma4"),
    ("gemma4", "gemma4"),
    ("gemma-3", "gemma3"),
    ("gemma3", "gemma3"),
)
"""Words in a model's name, in small letters, with `*` where others may stand between them; and the format. The first
row that fits counts; its first word must begin a word of the name.
"""


OTHER_TURNS: tuple[str, ...] = (
    *("ling-3", "ring-3", "spark-2.5", "spark2.5", "reka", "firefunction", "nemotron-super", "toolace", "watt-tool"),
    *("apriel-1.6", "functionary*3.2", "spark2p5"),
)
"""Models that write calls as a family does, in prompts that are laid out otherwise."""


def has_other_turns(model: str) -> bool:
    """Whether the prompts of the model of this name are laid out otherwise than those of its family."""
    written = model.lower().translate(_SEPARATORS)
    return any(_fits(pattern, written) for pattern in OTHER_TURNS)


def trained_format(model: str) -> str:
    """The name of the format that the model of this name was trained on; empty if that is not known."""
    written = model.lower().translate(_SEPARATORS)
    for pattern, name in TRAINED:
        if _fits(pattern, written):
            return name
    return ""


def _fits(pattern: str, written: str) -> bool:
    first, *rest = pattern.split("*")
    at = written.find(first)
    while at > 0 and written[at - 1].isalpha():
        at = written.find(first, at + 1)
    for word in rest:
        if at >= 0:
            at = written.find(word, at + 1)
    return at >= 0
