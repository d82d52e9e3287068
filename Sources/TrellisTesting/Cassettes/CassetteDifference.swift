import CurlEngine
import TrellisCore
import TrellisDiagnostics

/// The difference between a request and the recorded one that is most like it, in words.
enum CassetteDifference {
    /// A recorded request.
    struct Recording {
        /// The position in the file, from 0 on.
        let position: Int
        let request: HARDocument.Request
        let isUsed: Bool
    }

    /// Returns the recording that differs least from a request, and the differences, a line for each; `nil` if there are no recordings.
    static func nearest(
        to request: HARDocument.Request, among recordings: [Recording], _ matching: CassetteMatching
    ) -> String? {
        let asked = Parts(request)
        let distances = recordings.map { ($0, asked.distance(to: Parts($0.request))) }
        // Of equally near ones, one that was not used would have been the answer.
        let nearest = distances.min { one, other in
            (one.1, one.0.isUsed ? 1 : 0, one.0.position) < (other.1, other.0.isUsed ? 1 : 0, other.0.position)
        }
        guard let (recording, distance) = nearest else { return nil }
        var lines = Parts(recording.request).differences(asked, matching)
        lines += matching.differences(recording.request, request).map { name in
            line(name, recorded: value(name, recording.request), asked: value(name, request))
        }
        let count = distances.count { $0.1 == 0 }
        if lines.isEmpty, distance == 0, recording.isUsed {
            lines.append(
                "the \(count == 1 ? "only recording" : "\(count) recordings") of this request "
                    + "\(count == 1 ? "was" : "were") used already, and Cassette.allowsRepeats is false")
        }
        let name = "\(recording.request.method) \(recording.request.url) (entry \(recording.position + 1))"
        return ([name] + lines).joined(separator: "\n  ")
    }

    private static func value(_ name: String, _ request: HARDocument.Request) -> String? {
        if name == "body" { return request.postData?.text.map { shortened($0) } }
        let values = CassetteMatching.values(of: String(name.dropFirst("header ".count)), request)
        return values.isEmpty ? nil : values.map(\.text).joined(separator: ", ")
    }

    private static func shortened(_ text: String) -> String {
        text.unicodeScalars.count <= 200 ? text : "\(String(text.unicodeScalars.prefix(200)))…"
    }

    fileprivate static func line(_ name: String, recorded: String?, asked: String?) -> String {
        "\(name): \(recorded.map { "recorded \"\($0)\"" } ?? "not recorded"), "
            + (asked.map { "asked \"\($0)\"" } ?? "not asked")
    }

    /// The parts of a request.
    private struct Parts {
        let method: String
        /// The scheme and the authority.
        let origin: String
        let path: String
        let items: [HARDocument.Field]

        init(_ request: HARDocument.Request) {
            method = request.method
            let url = request.url
            let start = url.schemeMark?.upperBound ?? url.startIndex
            let end = url[start...].prefix(beforeBytes: "/?#").endIndex
            origin = String(url[..<end])
            path = String(url[end...].prefix(beforeBytes: "?#"))
            items = request.queryString
        }

        /// Returns a number that is the larger, the more the requests differ.
        func distance(to other: Parts) -> Int {
            var distance = 0
            if !method.hasSameBytes(as: other.method) { distance += 3 }
            if !origin.hasSameBytes(as: other.origin) { distance += 20 }
            if !path.hasSameBytes(as: other.path) {
                let (one, two) = (segments, other.segments)
                let same = zip(one, two).count { $0.hasSameBytes(as: $1) }
                distance += 2 + 2 * (max(one.count, two.count) - same)
            }
            return distance + changes(other).count
        }

        private var segments: [Substring] { path.split(atByte: "/") }

        /// Returns the names of the items of the query that differ.
        private func changes(_ other: Parts) -> [String] {
            var names: [String] = []
            for name in items.map(\.name) + other.items.map(\.name) where !names.contains(name) {
                if values(name) != other.values(name) { names.append(name) }
            }
            return names
        }

        private func values(_ name: String) -> [TextBytes] {
            items.filter { $0.name.hasSameBytes(as: name) }.map { TextBytes($0.value) }
        }

        /// Returns the differences between this request, the recorded one, and another one, a line for each.
        func differences(_ asked: Parts, _ matching: CassetteMatching) -> [String] {
            var lines: [String] = []
            if !method.hasSameBytes(as: asked.method) {
                lines.append(line("method", recorded: method, asked: asked.method))
            }
            if !origin.hasSameBytes(as: asked.origin) {
                lines.append(line("origin", recorded: origin, asked: asked.origin))
            }
            if !path.hasSameBytes(as: asked.path) { lines.append(line("path", recorded: path, asked: asked.path)) }
            guard matching.query else { return lines }
            for name in changes(asked) {
                let (recorded, asked) = (values(name), asked.values(name))
                let text = { (values: [TextBytes]) in
                    values.isEmpty ? nil : values.map(\.text).joined(separator: "\", \"")
                }
                lines.append(line("query item \(name)", recorded: text(recorded), asked: text(asked)))
            }
            if lines.isEmpty, !items.map(\.name).elementsEqual(asked.items.map(\.name)) {
                lines.append("the items of the query have another order")
            }
            return lines
        }

        private func line(_ name: String, recorded: String?, asked: String?) -> String {
            CassetteDifference.line(name, recorded: recorded, asked: asked)
        }
    }
}
