import FoundationEssentials

@testable import TrellisCore
@testable import TrellisWebSockets

/// The bytes of frames as a server sends them: without a mask.
enum ServerFrame {
    /// Returns a frame with the shortest form of its length.
    static func frame(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
        switch payload.count {
        case ...125: [first, UInt8(payload.count)] + payload
        case ...0xFFFF: [first, 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)] + payload
        default:
            [first, 127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) } + payload
        }
    }

    static func text(_ text: String, first: UInt8 = 0x81) -> [UInt8] { frame(first, Array(text.utf8)) }
    static func binary(_ payload: [UInt8]) -> [UInt8] { frame(0x82, payload) }
    static func ping(_ payload: [UInt8] = []) -> [UInt8] { frame(0x89, payload) }
    static func pong(_ payload: [UInt8] = []) -> [UInt8] { frame(0x8A, payload) }

    /// Returns a Close frame; one without a code if `code` is `nil`.
    static func close(_ code: UInt16? = nil, _ reason: String = "") -> [UInt8] {
        frame(0x88, (code.map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } ?? []) + Array(reason.utf8))
    }
}

/// The result of reading bytes: events, and the violation that ended the reading if there was one.
struct ReadFrames: Equatable {
    var events: [WebSocketEvent] = []
    var violation: WebSocketViolation?

    /// The code of the violation.
    var code: UInt16? { violation?.code.rawValue }

    init(
        _ pieces: [[UInt8]], frame: Int = 16 << 20, message: Int = 16 << 20, compression: WebSocketDeflate? = nil
    ) {
        var reader = WebSocketReader(maximumFrameSize: frame, maximumMessageSize: message, compression: compression)
        var frames = Int.max
        do throws(WebSocketViolation) {
            for piece in pieces {
                reader.feed(Data(piece))
                while let event = try reader.next(&frames) { events.append(event) }
            }
        } catch {
            violation = error
        }
    }
}

extension WebSocketEvent {
    static func text(_ text: String) -> WebSocketEvent { .message(.text(text)) }
    static func binary(_ bytes: [UInt8]) -> WebSocketEvent { .message(.binary(Data(bytes))) }
    static func close(_ code: UInt16, _ reason: String = "") -> WebSocketEvent {
        .close(WebSocketClosing(code: WebSocketCloseCode(rawValue: code), reason: reason))
    }
}
