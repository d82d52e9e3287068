import CoreMetrics
import Synchronization
import Tracing
import Trellis

/// An instrument of any kind, which keeps a value, or a histogram of the values since the start.
final class OTLPInstrument: CounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    enum Kind: Sendable { case counter, meter, gauge, sizes, seconds }

    let kind: Kind
    let label: String
    private let attributes: JSONValue
    private let start = DefaultTracerClock.now.nanosecondsSinceEpoch
    /// The upper bounds of the buckets of a histogram: those that OpenTelemetry advises for durations, or its defaults.
    private let bounds: [Double]
    private let state: Mutex<(value: Double, counts: [Int])>

    init(_ kind: Kind, _ label: String, _ dimensions: [(String, String)]) {
        (self.kind, self.label) = (kind, label)
        let texts = dimensions.map { ($0.0, SpanAttribute.string($0.1)) }
        attributes = .attributes(SpanAttributes(Dictionary(texts) { $1 }))
        bounds =
            switch kind {
            case .counter, .meter, .gauge: []
            case .sizes: [0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000]
            case .seconds: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
            }
        state = Mutex((0, Array(repeating: 0, count: bounds.count + 1)))
    }

    func increment(by amount: Int64) { increment(by: Double(amount)) }
    func increment(by amount: Double) { state.withLock { $0.value += amount } }
    func decrement(by amount: Double) { increment(by: -amount) }
    func reset() { set(0.0) }
    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { state.withLock { $0.value = value } }
    func record(_ value: Int64) { record(Double(value)) }
    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    func record(_ value: Double) {
        guard kind != .gauge else { return set(value) }
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.value += value
            state.counts[bucket] += 1
        }
    }

    /// Returns the metric of all series with its label. Except for gauges, its values are those since the start (cumulative, 2).
    func metric(of series: [OTLPInstrument]) -> JSONValue {
        var data: [String: JSONValue] = ["dataPoints": .array(series.map(\.point))]
        if kind != .gauge { data["aggregationTemporality"] = .integer(2) }
        if kind == .counter || kind == .meter { data["isMonotonic"] = .bool(kind == .counter) }
        let (name, unit) =
            switch kind {
            case .meter where label == "http.client.open_connections": ("sum", "{connection}")
            case .meter where label == "http.client.active_requests": ("sum", "{request}")
            case .counter, .meter: ("sum", "1")
            case .gauge: ("gauge", "1")
            case .sizes: ("histogram", "By")
            case .seconds: ("histogram", "s")
            }
        return .object(["name": .string(label), "unit": .string(unit), name: .object(data)])
    }

    private var point: JSONValue {
        let (value, counts) = state.withLock { $0 }
        let now = DefaultTracerClock.now.nanosecondsSinceEpoch
        var point: [String: JSONValue] = [
            "attributes": attributes, "startTimeUnixNano": .string("\(start)"), "timeUnixNano": .string("\(now)"),
        ]
        guard !bounds.isEmpty else {
            point["asDouble"] = .number(value)
            return .object(point)
        }
        point["count"] = .string("\(counts.reduce(0, +))")
        point["sum"] = .number(value)
        point["bucketCounts"] = .array(counts.map { .string("\($0)") })
        point["explicitBounds"] = .array(bounds.map { .number($0) })
        return .object(point)
    }
}
