import Synchronization
import Tracing
import Trellis

/// A span that is passed on as JSON when it ends.
final class OTLPSpan: Span {
    /// The identity of a span, as lowercase hexadecimal digits.
    struct Identity: Sendable {
        enum Key: InstrumentationContextKey { typealias Value = Identity }

        let trace: String
        let span: String
    }

    private struct State {
        var name: String
        var attributes = SpanAttributes([:])
        var events: [SpanEvent] = []
        var links: [SpanLink] = []
        var status: SpanStatus?
        var hasEnded = false
    }

    let context: InstrumentationContext
    private let identity: Identity
    private let parent: Identity?
    private let kind: SpanKind
    private let start: UInt64
    private let record: @Sendable (JSONValue) -> Void
    private let state: Mutex<State>

    init(
        _ name: String, _ parentContext: InstrumentationContext, _ kind: SpanKind, start: UInt64,
        _ record: @escaping @Sendable (JSONValue) -> Void
    ) {
        parent = parentContext[Identity.Key.self]
        identity = Identity(trace: parent?.trace ?? .random(bytes: 16), span: .random(bytes: 8))
        var context = parentContext
        context[Identity.Key.self] = identity
        (self.context, self.kind, self.start, self.record) = (context, kind, start, record)
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
    func addEvent(_ event: SpanEvent) { state.withLock { $0.events.append(event) } }
    func addLink(_ link: SpanLink) { state.withLock { $0.links.append(link) } }

    func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        var attributes = attributes
        attributes.set("exception.type", value: .string("\(type(of: error))"))
        attributes.set("exception.message", value: .string("\(error)"))
        addEvent(SpanEvent(name: "exception", at: instant(), attributes: attributes))
    }

    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let end = instant().nanosecondsSinceEpoch
        let ended: State? = state.withLock { state in
            defer { state.hasEnded = true }
            return state.hasEnded ? nil : state
        }
        guard let ended else { return }
        var span: [String: JSONValue] = [
            "traceId": .string(identity.trace), "spanId": .string(identity.span), "name": .string(ended.name),
            "kind": .integer(kind.number), "startTimeUnixNano": .string("\(start)"),
            "endTimeUnixNano": .string("\(end)"), "attributes": .attributes(ended.attributes),
            "events": .array(ended.events.map(JSONValue.event)),
            "links": .array(ended.links.compactMap(JSONValue.link)), "status": .status(ended.status),
        ]
        if let parent { span["parentSpanId"] = .string(parent.span) }
        record(.object(span))
    }
}

extension SpanKind {
    /// The number of the kind in OTLP.
    fileprivate var number: Int {
        switch self {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
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
