import CurlEngine
import TrellisTesting

@testable import TrellisCore

/// A model of a server and of clients that keep to a concurrency limit, in virtual time: nothing waits, and a seed gives the same
/// run each time.
///
/// The server has workers and a queue. A request beyond the queue gets a 503 at once. A client always has a number of requests
/// to send, and sends as many as its limit permits.
struct ServerModel {
    /// A client with its limit.
    struct Client {
        var limit: ConcurrencyLimit
        /// The largest number of requests that it has to send at a time.
        var demand = Int.max
        var inFlight = 0
        /// The number of requests that got their response, and of those that got a 503 or nothing in time.
        var served = 0
        var refused = 0
        /// The sum of the limits at the responses, for their mean.
        var limits = 0

        var meanLimit: Int { limits / max(served + refused, 1) }

        mutating func forget() { (served, refused, limits) = (0, 0, 0) }
    }

    enum Event {
        case arrival(Request)
        case completion(Request)
        case response(Request, ConcurrencyLimit.Outcome)
        case wake(Int)
    }

    struct Request {
        let client: Int
        let sent: ConcurrencyLimit.Sent
        let start: Double
    }

    /// The way of one message, in seconds.
    static let wire = 0.001
    /// The number of seconds after which a client gives a request up.
    var timeout = 5.0
    var workers = 20
    var queueLimit = 40
    /// The mean time in which a worker answers, in seconds.
    var serviceTime = 0.05
    /// Whether the server answers everything with a 503.
    var isOut = false
    /// Whether the server answers nothing.
    var isSilent = false
    /// The time that the server's 503 asks for.
    var retryAfter: Duration?
    var clients: [Client] = []

    private(set) var now = 0.0
    private var random: SeededGenerator
    private var busy = 0
    private var queue: [Request] = []
    private var events: [(time: Double, event: Event)] = []

    init(seed: UInt64 = 1) { random = SeededGenerator(seed: seed) }

    /// The number of requests that the server can answer in a second.
    var capacity: Double { Double(workers) / serviceTime }

    private var instant: EngineInstant { .at(.seconds(now)) }

    mutating func addClient(_ rules: ConcurrencyRules, demand: Int = .max) {
        clients.append(Client(limit: ConcurrencyLimit(rules), demand: demand))
    }

    /// Runs the model for a number of seconds. What the clients have counted before is forgotten.
    mutating func run(for seconds: Double) {
        let end = now + seconds
        for index in clients.indices {
            clients[index].forget()
            fill(index)
        }
        while let next = events.first, next.time <= end {
            events.removeFirst()
            now = next.time
            handle(next.event)
        }
        now = end
    }

    private mutating func handle(_ event: Event) {
        switch event {
        case .wake(let client): fill(client)
        case .arrival(let request):
            guard !isSilent else {
                return schedule(.response(request, .overload(pause: nil)), in: timeout - Self.wire)
            }
            if isOut || busy >= workers && queue.count >= queueLimit {
                schedule(.response(request, .overload(pause: retryAfter)), in: Self.wire)
            } else if busy < workers {
                begin(request)
            } else {
                queue.append(request)
            }
        case .completion(let request):
            busy -= 1
            let latency = now + Self.wire - request.start
            let isLate = latency > timeout
            schedule(
                .response(request, isLate ? .overload(pause: nil) : .success(latency: Int64(latency * 1e9))),
                in: Self.wire)
            if !queue.isEmpty { begin(queue.removeFirst()) }
        case .response(let request, let outcome):
            _ = clients[request.client].limit.end(request.sent, outcome, at: instant)
            clients[request.client].limit.leave(wasSent: true)
            clients[request.client].inFlight -= 1
            clients[request.client].limits += clients[request.client].limit.limit
            if case .success = outcome {
                clients[request.client].served += 1
            } else {
                clients[request.client].refused += 1
            }
            fill(request.client)
        }
    }

    /// Sends the requests of a client that its limit permits.
    private mutating func fill(_ index: Int) {
        let pauseEnd = clients[index].limit.turn(behind: 0)
        guard pauseEnd <= instant else {
            return schedule(.wake(index), in: Double(pauseEnd.nanoseconds(since: instant)) / 1e9 + 1e-9)
        }
        while clients[index].inFlight < clients[index].demand, clients[index].limit.hasRoom {
            clients[index].limit.take(at: instant)
            clients[index].inFlight += 1
            schedule(.arrival(Request(client: index, sent: clients[index].limit.send(), start: now)), in: Self.wire)
        }
    }

    private mutating func begin(_ request: Request) {
        busy += 1
        // Times of service vary from half to one and a half of their mean.
        schedule(.completion(request), in: serviceTime * Double.random(in: 0.5...1.5, using: &random))
    }

    private mutating func schedule(_ event: Event, in delay: Double) {
        let time = now + delay
        let index = events.firstIndex { $0.time > time } ?? events.endIndex
        events.insert((time, event), at: index)
    }
}
