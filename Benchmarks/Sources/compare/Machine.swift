import Foundation

/// The machine of the figures. Figures are comparable within one run, not between machines.
struct Machine: Encodable {
    let processor: String
    let cores: Int
    let kernel: String
    let architecture: String

    init() {
        cores = ProcessInfo.processInfo.activeProcessorCount
        let model = try? readFile("/proc/cpuinfo").split(separator: "\n").first { $0.hasPrefix("model name") }
        processor = model?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown"
        var names = utsname()
        uname(&names)
        kernel = withUnsafeBytes(of: &names.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        architecture = withUnsafeBytes(of: &names.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
