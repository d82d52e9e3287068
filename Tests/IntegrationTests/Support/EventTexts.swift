import CurlEngine
import Trellis

/// A monitor that keeps the events in every form in which they can be written, with a log and a recording.
final class EventTexts: EventMonitor {
    private let events = Locked<[String]>([])
    private let lines = Locked<[String]>([])
    /// The recorder, for the configuration of a session.
    let recorder = HARRecorder()

    /// The log, with the fields of requests, for the monitors of a session.
    var logger: RequestLog { RequestLog(.headers) { line in self.lines.withLock { $0.append(line) } } }

    /// The lines of the log.
    var log: String { lines.withLock { $0.joined(separator: "\n") } }
    /// The recording as JSON (HAR 1.2).
    var recording: String {
        (try? recorder.document.json()).map { String(decoding: $0, as: UTF8.self) } ?? "no recording"
    }
    /// The log and the recording.
    var written: String { log + recording }
    /// The events in every form, the log and the recording.
    var all: String { events.withLock { $0.joined(separator: "\n") } + written }

    func handle(_ event: RequestEvent) async {
        var dumped = ""
        dump(event, to: &dumped)
        events.withLock { $0 += ["\(event)", String(reflecting: event), dumped] }
    }
}
