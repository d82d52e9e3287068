import CurlEngine
import FoundationEssentials

/// The random numbers for the choice of endpoints (SplitMix64). They are not secret.
struct EndpointRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Self.mixed(state)
    }

    /// Returns a number whose bits each depend on all bits of another one.
    static func mixed(_ number: UInt64) -> UInt64 {
        var bits = number
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}

extension Checksum64 {
    /// Returns the checksum of the bytes of a text.
    static func of(_ text: String) -> UInt64 { of(Data(text.utf8).bytes) }
}

extension Double {
    /// The logarithm to the base 2 of a positive number, the same on every machine.
    var binaryLogarithm: Double {
        // log₂(2ᵉ · m) = e + log₂ m, and ln m = 2 artanh((m - 1) / (m + 1)), whose series ends soon for m below 2.
        let ratio = (significand - 1) / (significand + 1)
        var (power, sum) = (ratio, 0.0)
        for divisor in stride(from: 1.0, through: 29, by: 2) {
            sum += power / divisor
            power *= ratio * ratio
        }
        return Double(exponent) + 2 * sum * 1.442_695_040_888_963_4
    }
}
