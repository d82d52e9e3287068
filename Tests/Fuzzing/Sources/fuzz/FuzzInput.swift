/// An input of libFuzzer. The first bytes select settings; the rest is the body.
struct FuzzInput {
    /// The seed of the random lengths into which a body is cut.
    private let seed: UInt64
    /// A number from 0 to 255, for settings.
    let choice: UInt8
    /// The body.
    let body: [UInt8]

    /// Creates the input. The first two bytes are the choice and the seed.
    init(_ start: UnsafePointer<UInt8>?, _ count: Int) {
        let bytes = [UInt8](UnsafeBufferPointer(start: start, count: count))
        choice = bytes.first ?? 0
        seed = UInt64(bytes.dropFirst().first ?? 0) &+ 1
        body = Array(bytes.dropFirst(2))
    }

    /// The decisions that the bytes of the body determine.
    var choices: Choices { Choices(body) }

    /// The body in one piece, byte by byte, and in pieces of lengths that the input determines.
    var cuts: [[[UInt8]]] { cuts(of: body) }

    /// Returns other bytes in pieces, as in ``cuts``.
    func cuts(of bytes: [UInt8]) -> [[[UInt8]]] {
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        var state = seed &* 0x9E37_79B9_7F4A_7C15
        while !rest.isEmpty {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            // The pieces are mostly short, sometimes long, sometimes empty.
            let length = Int(state >> 60) == 15 ? rest.count : Int(state >> 33) % 24
            pieces.append(Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return [[bytes], bytes.map { [$0] }, pieces]
    }
}
