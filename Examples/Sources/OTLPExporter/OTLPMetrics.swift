import CoreMetrics
import Synchronization
import Tracing
import Trellis

/// A metrics factory whose instruments are exported with their present values.
final class OTLPMetrics: MetricsFactory {
    private struct Key: Hashable {
        let label: String
        let dimensions: [String]
        let kind: OTLPInstrument.Kind
    }

    private let instruments = Mutex<[Key: OTLPInstrument]>([:])
    private let start = DefaultTracerClock.now.nanosecondsSinceEpoch

    /// The metrics as JSON: one for each name, with a data point for each series.
    var values: [JSONValue] {
        let now = DefaultTracerClock.now.nanosecondsSinceEpoch
        let all = instruments.withLock { $0.values.map { $0 } }
        let named = Dictionary(grouping: all) { "\($0.label) \($0.kind)" }
        return named.sorted { $0.key < $1.key }.compactMap { _, series in
            series.first?.metric(with: series.map { $0.point(start, now) })
        }
    }

    private func instrument(
        _ kind: OTLPInstrument.Kind, _ label: String, _ dimensions: [(String, String)]
    ) -> OTLPInstrument {
        let key = Key(label: label, dimensions: dimensions.flatMap { [$0.0, $0.1] }, kind: kind)
        return instruments.withLock { instruments in
            if let known = instruments[key] { return known }
            let instrument = OTLPInstrument(kind, label, dimensions)
            instruments[key] = instrument
            return instrument
        }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        instrument(.counter, label, dimensions)
    }
    func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler { instrument(.counter, label, dimensions) }
    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        instrument(.meter, label, dimensions)
    }
    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        instrument(aggregate ? .sizes : .gauge, label, dimensions)
    }
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        instrument(.seconds, label, dimensions)
    }

    // A series keeps its value when its last user has gone, as OpenTelemetry's do.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
}

/// An instrument of any kind, which keeps a value, or a histogram of the values since the start.
final class OTLPInstrument: CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    enum Kind: Hashable { case counter, meter, gauge, sizes, seconds }

    private struct State {
        var value = 0.0
        /// Indicates whether a value was set, and not only changed by amounts.
        var isSet = false
        var counts: [Int]
        var count = 0
    }

    let kind: Kind
    let label: String
    private let attributes: JSONValue
    /// The upper bounds of the buckets of a histogram: those that OpenTelemetry advises for durations, or its defaults.
    private let bounds: [Double]
    private let state: Mutex<State>

    init(_ kind: Kind, _ label: String, _ dimensions: [(String, String)]) {
        self.kind = kind
        self.label = label
        let texts = dimensions.map { ($0.0, SpanAttribute.string($0.1)) }
        attributes = .attributes(SpanAttributes(Dictionary(texts) { $1 }))
        bounds =
            switch kind {
            case .counter, .meter, .gauge: []
            case .sizes: [0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000]
            case .seconds: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
            }
        state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    func increment(by amount: Int64) { increment(by: Double(amount)) }
    func increment(by amount: Double) { state.withLock { $0.value += amount } }
    func decrement(by amount: Double) { increment(by: -amount) }
    func reset() { state.withLock { $0.value = 0 } }
    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) {
        state.withLock { state in
            state.value = value
            state.isSet = true
        }
    }
    func record(_ value: Int64) { record(Double(value)) }
    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    func record(_ value: Double) {
        guard kind != .gauge else { return set(value) }
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.value += value
            state.count += 1
            state.counts[bucket] += 1
        }
    }

    /// Returns the metric with the data points of all series.
    func metric(with points: [JSONValue]) -> JSONValue {
        var data: [String: JSONValue] = ["dataPoints": .array(points)]
        // A meter that goes up and down by amounts is a sum (OpenTelemetry's UpDownCounter); one that is set is a gauge.
        let isSet = state.withLock { $0.isSet }
        let (name, unit) =
            switch kind {
            case .counter: ("sum", "1")
            case .meter: (isSet ? "gauge" : "sum", "1")
            case .gauge: ("gauge", "1")
            case .sizes: ("histogram", "By")
            case .seconds: ("histogram", "s")
            }
        // The values are those since the start (cumulative).
        if name != "gauge" { data["aggregationTemporality"] = .integer(2) }
        if name == "sum" { data["isMonotonic"] = .bool(kind == .counter) }
        return .object(["name": .string(label), "unit": .string(unit), name: .object(data)])
    }

    /// Returns the data point of the series.
    func point(_ start: UInt64, _ now: UInt64) -> JSONValue {
        let state = state.withLock { $0 }
        var point: [String: JSONValue] = [
            "attributes": attributes, "startTimeUnixNano": .string("\(start)"), "timeUnixNano": .string("\(now)"),
        ]
        if bounds.isEmpty {
            point["asDouble"] = .number(state.value)
        } else {
            point["count"] = .string("\(state.count)")
            point["sum"] = .number(state.value)
            point["bucketCounts"] = .array(state.counts.map { .string("\($0)") })
            point["explicitBounds"] = .array(bounds.map { .number($0) })
        }
        return .object(point)
    }
}
