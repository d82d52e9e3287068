extension BinaryInteger {
    /// The number of bytes in readable units: `640 B`, `1.5 KiB`, `32.0 MiB`.
    public var inBytes: String {
        var (value, units) = (Double(self), ["KiB", "MiB", "GiB", "TiB"][...])
        guard value >= 1024 else { return "\(self) B" }
        value /= 1024
        while value >= 1024, units.count > 1 {
            value /= 1024
            units = units.dropFirst()
        }
        return "\(value.rounded(toTenths: true)) \(units.first ?? "")"
    }
}

extension Duration {
    /// The duration in seconds.
    public var inSeconds: Double { self / .seconds(1) }

    /// The duration in readable units: `250 µs`, `12 ms`, `3.4 s`, `2:05 min`.
    public var forPeople: String {
        // The value is limited to about a million years, so that the conversion to an integer cannot overflow.
        let seconds = min(inSeconds, 3e13)
        if seconds < 0.001 { return "\(Int(seconds * 1_000_000)) µs" }
        if seconds < 1 { return "\(Int(seconds * 1000)) ms" }
        if seconds < 60 { return "\(seconds.rounded(toTenths: true)) s" }
        let rest = Int(seconds) % 60
        return "\(Int(seconds) / 60):\(rest < 10 ? "0" : "")\(rest) min"
    }

    /// Returns the rate of `bytes` in this duration, in readable units: `12.5 MiB/s`.
    public func rate(of bytes: some BinaryInteger) -> String {
        let seconds = inSeconds
        return "\(seconds > 0 ? Int64(min(Double(bytes) / seconds, 1e18)).inBytes : "–")/s"
    }
}

extension Double {
    fileprivate func rounded(toTenths: Bool) -> String {
        let tenths = Int((self * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
