import Foundation

/// The file that `--json` writes. It contains the specified figures and some additional ones.
struct JSONReport: Encodable {
    /// The version of libcurl that the C program and Trellis had loaded.
    var libcurl: String
    var quick: Bool
    var machine: Machine
    var results: [Row]
    /// The clients and benchmarks that were left out, one line each, with the reason.
    var leftOut: [String]

    enum CodingKeys: String, CodingKey {
        case libcurl, quick, machine, results
        case leftOut = "left_out"
    }

    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try writeFile(String(decoding: encoder.encode(self), as: UTF8.self) + "\n", to: path)
    }
}

extension Row: Encodable {
    enum CodingKeys: String, CodingKey {
        case benchmark, client, seconds, spread, rounds
        case p50 = "p50_ms"
        case p99 = "p99_ms"
        case requestsPerSecond = "requests_per_s"
        case cpuMicrosecondsPerRequest = "cpu_us_per_request"
        case bytesPerSecond = "bytes_per_s"
        case peakRSS = "peak_rss_mb"
        case instructionsPerRequest = "instructions_per_request"
        case bytesPerRequest = "rss_bytes_per_request"
        case wakeUpsPerSecond = "wake_ups_per_s"
        case rebuildSeconds = "rebuild_s"
        case errorShare = "error_share"
        case serverCores = "server_cores"
        case engineBusy = "engine_busy"
        case engineRequests = "engine_requests"
        case wakeUpsPerRequest = "wake_ups_per_request"
        case engineWakeUpsPerRequest = "engine_wake_ups_per_request"
    }

    /// Encodes a figure that does not apply as null.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(benchmark, forKey: .benchmark)
        try container.encode(client, forKey: .client)
        try container.encode(rounds, forKey: .rounds)
        let figures: [(CodingKeys, Double?)] = [
            (.requestsPerSecond, requestsPerSecond), (.cpuMicrosecondsPerRequest, cpuMicrosecondsPerRequest),
            (.p50, p50), (.p99, p99), (.bytesPerSecond, bytesPerSecond), (.peakRSS, peakRSS),
            (.instructionsPerRequest, instructionsPerRequest), (.seconds, seconds), (.bytesPerRequest, bytesPerRequest),
            (.spread, spread), (.serverCores, serverCores), (.wakeUpsPerRequest, wakeUpsPerRequest),
            (.engineWakeUpsPerRequest, engineWakeUpsPerRequest), (.wakeUpsPerSecond, wakeUpsPerSecond),
            (.rebuildSeconds, rebuildSeconds), (.errorShare, errorShare),
        ]
        for (key, figure) in figures { try container.encode(figure, forKey: key) }
        try container.encode(engineBusy, forKey: .engineBusy)
        try container.encode(engineRequests, forKey: .engineRequests)
    }
}
