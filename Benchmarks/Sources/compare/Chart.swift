import Foundation

/// Bars that compare the clients, as an SVG that is readable on a light and on a dark page.
struct Chart {
    /// A benchmark with a bar for each client.
    struct Group {
        let title: String
        let bars: [(client: Client, value: Double)]
    }

    let title: String
    /// What a figure is, and which direction is better.
    let note: String
    let unit: String
    let groups: [Group]

    var svg: String {
        let (width, left, barHeight, gap) = (760.0, 170.0, 20.0, 18.0)
        let longest = groups.flatMap(\.bars).map(\.value).max() ?? 1
        let scale = (width - left - 110) / max(longest, 1e-9)
        var (elements, y): ([String], Double) = ([], 64)
        for group in groups {
            elements.append("<text class=\"group\" x=\"0\" y=\"\(number(y + 14))\">\(escaped(group.title))</text>")
            y += 24
            for bar in group.bars {
                let length = max(bar.value * scale, 1)
                let style = bar.client == .trellis ? "trellis" : "peer"
                elements += [
                    "<text class=\"client\" x=\"\(number(left - 10))\" y=\"\(number(y + 14))\">\(bar.client.title)</text>",
                    "<rect class=\"\(style)\" x=\"\(number(left))\" y=\"\(number(y))\" width=\"\(number(length))\" "
                        + "height=\"\(number(barHeight - 4))\" rx=\"3\"/>",
                    "<text class=\"value\" x=\"\(number(left + length + 8))\" y=\"\(number(y + 13))\">"
                        + "\(figure(bar.value)) \(escaped(unit))</text>",
                ]
                y += barHeight
            }
            y += gap
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(number(width)) \(number(y))" width="\(number(width))" role="img">
            <title>\(escaped(title))</title>
            <style>
            text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2421; }
            .title { font-size: 17px; font-weight: 650; } .group { font-weight: 600; } .note, .value { fill: #5b645e; }
            .client { text-anchor: end; } .trellis { fill: #1f7a4c; } .peer { fill: #b8c0ba; }
            @media (prefers-color-scheme: dark) {
            text { fill: #e4e9e5; } .note, .value { fill: #9ba69f; } .trellis { fill: #62c48f; } .peer { fill: #4c5650; }
            }
            </style>
            <text class="title" x="0" y="20">\(escaped(title))</text>
            <text class="note" x="0" y="42">\(escaped(note))</text>
            \(elements.joined(separator: "\n"))
            </svg>

            """
    }

    private func number(_ value: Double) -> String { String(format: "%g", (value * 10).rounded() / 10) }

    private func figure(_ value: Double) -> String { String(format: value < 10 ? "%.2f" : "%.0f", value) }

    private func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
    }
}

extension Client {
    /// The name for readers.
    fileprivate var title: String {
        switch self {
        case .trellis: "Trellis"
        case .libcurl: "C on libcurl"
        case .asyncHTTPClient: "AsyncHTTPClient"
        case .urlsession: "URLSession"
        case .go: "Go"
        case .curl: "curl"
        }
    }
}
