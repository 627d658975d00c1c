"""Spans and metrics that stay in the process, and what a test wants to know of them."""

from __future__ import annotations

from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolwire.telemetry import OpenTelemetry


class Spans(SpanProcessor):
    """What was begun and has not ended."""

    def __init__(self) -> None:
        self.open: dict[int, str] = {}
        self.twice: list[str] = []

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self.open[id_of(span)] = span.name

    def on_end(self, span: ReadableSpan) -> None:
        if self.open.pop(id_of(span), None) is None:
            self.twice.append(span.name)


class Traced:
    """A tracer and a meter of a test's own, and what came out of them."""

    def __init__(self) -> None:
        self.provider = TracerProvider()
        self.exporter = InMemorySpanExporter()
        self.watch = Spans()
        self.provider.add_span_processor(self.watch)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader])

    def hooks(self, **options: Any) -> OpenTelemetry:
        return OpenTelemetry(tracer_provider=self.provider, meter_provider=self.meters, **options)

    @property
    def spans(self) -> list[ReadableSpan]:
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name.startswith(name)]

    def shutdown(self) -> None:
        self.provider.shutdown()
        self.meters.shutdown()

    def points(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        data = self.reader.get_metrics_data()
        for resource in data.resource_metrics if data else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    found[metric.name] = list(metric.data.data_points)
        return found


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def parent_of(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent else None


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    found: int = span.context.span_id
    return found
