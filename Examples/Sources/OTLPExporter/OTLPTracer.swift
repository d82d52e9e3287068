import Synchronization
import Tracing
import Trellis

/// A tracer whose spans become JSON when they end, and whose context travels as `traceparent` (W3C Trace Context).
struct OTLPTracer: Tracer {
    let record: @Sendable (JSONValue) -> Void

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> OTLPSpan {
        var context = context()
        let parent = context[SpanIdentity.Key.self]
        context[SpanIdentity.Key.self] = SpanIdentity(
            traceID: parent?.traceID ?? .random(bytes: 16), id: .random(bytes: 8))
        return OTLPSpan(operationName, context, parent, kind, start: instant().nanosecondsSinceEpoch, record)
    }

    func forceFlush() {}

    func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let identity = context[SpanIdentity.Key.self] else { return }
        injector.inject("00-\(identity.traceID)-\(identity.id)-01", forKey: "traceparent", into: &carrier)
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        let parts = extractor.extract(key: "traceparent", from: carrier)?.split(separator: "-").map(String.init) ?? []
        guard parts.count == 4, parts[1].utf8.count == 32, parts[2].utf8.count == 16 else { return }
        context[SpanIdentity.Key.self] = SpanIdentity(traceID: parts[1], id: parts[2])
    }
}

/// The identity of a span, as lowercase hexadecimal digits.
struct SpanIdentity: Sendable {
    enum Key: InstrumentationContextKey { typealias Value = SpanIdentity }

    let traceID: String
    let id: String
}

/// A span that is recorded as JSON when it ends.
final class OTLPSpan: Span {
    private struct State {
        var name: String
        var attributes = SpanAttributes([:])
        var events: [JSONValue] = []
        var links: [JSONValue] = []
        var status: SpanStatus?
        var hasEnded = false
    }

    let context: InstrumentationContext
    private let parent: SpanIdentity?
    private let kind: SpanKind
    private let start: UInt64
    private let record: @Sendable (JSONValue) -> Void
    private let state: Mutex<State>

    init(
        _ name: String, _ context: InstrumentationContext, _ parent: SpanIdentity?, _ kind: SpanKind, start: UInt64,
        _ record: @escaping @Sendable (JSONValue) -> Void
    ) {
        (self.context, self.parent, self.kind, self.start, self.record) = (context, parent, kind, start, record)
        state = Mutex(State(name: name))
    }

    var isRecording: Bool { state.withLock { !$0.hasEnded } }
    var operationName: String {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }
    var attributes: SpanAttributes {
        get { state.withLock { $0.attributes } }
        set { state.withLock { $0.attributes = newValue } }
    }

    func setStatus(_ status: SpanStatus) { state.withLock { $0.status = status } }

    func addEvent(_ event: SpanEvent) {
        let json = JSONValue.event(event.name, event.nanosecondsSinceEpoch, event.attributes)
        state.withLock { $0.events.append(json) }
    }

    func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        var attributes = attributes
        attributes.set("exception.type", value: .string("\(type(of: error))"))
        attributes.set("exception.message", value: .string("\(error)"))
        let json = JSONValue.event("exception", instant().nanosecondsSinceEpoch, attributes)
        state.withLock { $0.events.append(json) }
    }

    func addLink(_ link: SpanLink) {
        guard let other = link.context[SpanIdentity.Key.self] else { return }
        let json = JSONValue.object([
            "traceId": .string(other.traceID), "spanId": .string(other.id), "attributes": .attributes(link.attributes),
        ])
        state.withLock { $0.links.append(json) }
    }

    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let end = instant().nanosecondsSinceEpoch
        guard let identity = context[SpanIdentity.Key.self] else { return }
        let json: JSONValue? = state.withLock { state in
            guard !state.hasEnded else { return nil }
            state.hasEnded = true
            var span: [String: JSONValue] = [
                "traceId": .string(identity.traceID), "spanId": .string(identity.id), "name": .string(state.name),
                "kind": .integer(kind.number), "startTimeUnixNano": .string("\(start)"),
                "endTimeUnixNano": .string("\(end)"), "attributes": .attributes(state.attributes),
                "events": .array(state.events), "links": .array(state.links), "status": .status(state.status),
            ]
            if let parent { span["parentSpanId"] = .string(parent.id) }
            return .object(span)
        }
        if let json { record(json) }
    }
}

extension String {
    /// Returns random bytes as lowercase hexadecimal digits. One of them is not zero, because zero means no identity.
    fileprivate static func random(bytes count: Int) -> String {
        (0..<count).map { index in
            let byte = UInt8.random(in: (index == 0 ? 1 : 0)...255)
            return (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}
