import CurlEngine
import FoundationEssentials
import HTTPTypes

/// A parser of a multipart body (RFC 2046, section 5.1), independent of how the body is cut into chunks. Performs no I/O.
///
/// Lines may end with LF instead of CRLF, as many servers send them. The parser keeps the head of a part, or bytes that may be
/// the beginning of a boundary; all other bytes are returned at once.
struct MultipartParser: IncrementalParser {
    /// A piece of a part: for each part the head, the bytes as they are received, and the end.
    enum Piece: Sendable, Equatable {
        case head(HTTPFields)
        case bytes(Data)
        case end
    }

    /// The section of the body in which the parser is.
    private enum Place { case preamble, head, content, epilogue }

    private let boundary: MultipartDelimiter
    private let maximumHeadSize: Int
    /// Whether the end of the body ends a part too. A stream whose parts replace one another has no last boundary.
    private let mayStopAnywhere: Bool

    private var place = Place.preamble
    private var bytes: [UInt8] = []
    /// The offset in `bytes` up to which they have been taken.
    private var position = 0
    /// The offset from which the next line feed is searched for, in the head or in the content.
    private var searchStart = 0
    /// Whether the byte at `position` is the start of a line.
    private var isAtLineStart = true
    /// The pieces that have been found together, two at most.
    private var ready: [Piece] = []

    /// Creates a parser.
    ///
    /// - Parameters:
    ///   - maximumHeadSize: The maximum size of the head of a part in bytes.
    ///   - mayStopAnywhere: Whether the end of the body ends a part too.
    init(_ boundary: MultipartDelimiter, maximumHeadSize: Int, mayStopAnywhere: Bool) {
        self.boundary = boundary
        self.maximumHeadSize = maximumHeadSize
        self.mayStopAnywhere = mayStopAnywhere
    }

    mutating func append(_ chunk: Data) {
        bytes.removeFirst(position)
        searchStart -= position
        position = 0
        bytes.append(copying: chunk.span)
    }

    mutating func next() throws -> Piece? { try next(isComplete: false) }

    mutating func finish() throws -> Piece? {
        if let piece = try next(isComplete: true) { return piece }
        guard place == .epilogue || mayStopAnywhere else {
            throw TrellisError.streamCutShort("the multipart body ended without its last boundary")
        }
        defer { place = .epilogue }
        return place == .content ? .end : nil
    }

    private mutating func next(isComplete: Bool) throws(TrellisError) -> Piece? {
        while ready.isEmpty {
            switch place {
            case .head: return try takeHead().map { .head($0) }
            case .content, .preamble:
                guard !takeContent(isComplete: isComplete), ready.isEmpty else { continue }
                if isComplete { handOn(upTo: bytes.count) }
                guard !ready.isEmpty else { return nil }
            case .epilogue:
                position = bytes.count
                return nil
            }
        }
        return ready.removeFirst()
    }

    // MARK: Content

    /// Takes the bytes of the content, and the boundary after them; returns `false` if more bytes are needed.
    private mutating func takeContent(isComplete: Bool) -> Bool {
        if isAtLineStart {
            switch boundary.match(bytes, at: position, isComplete: isComplete) {
            case .undecided: return false
            case .none: isAtLineStart = false
            case .line(let length, let isLast):
                pass(contentEnd: position, boundaryEnd: position + length, isLast)
                return true
            }
        }
        while true {
            let lineFeed = bytes.span.offset(of: 0x0A, from: searchStart)
            let hasReturn = lineFeed > position && bytes[lineFeed - 1] == 0x0D
            let contentEnd = hasReturn ? lineFeed - 1 : lineFeed
            guard lineFeed < bytes.count else {
                // A CR at the end may belong to a boundary.
                handOn(upTo: contentEnd)
                searchStart = bytes.count
                return false
            }
            switch boundary.match(bytes, at: lineFeed + 1, isComplete: isComplete) {
            case .none: searchStart = lineFeed + 1
            case .undecided:
                handOn(upTo: contentEnd)
                searchStart = lineFeed
                return false
            case .line(let length, let isLast):
                pass(contentEnd: contentEnd, boundaryEnd: lineFeed + 1 + length, isLast)
                return true
            }
        }
    }

    /// Makes the bytes up to `end` a piece of the content; in the preamble, drops them.
    private mutating func handOn(upTo end: Int) {
        if end > position, place == .content { ready.append(.bytes(Data(bytes[position..<end]))) }
        position = max(position, end)
    }

    /// Ends the content before a boundary, and continues after the boundary.
    private mutating func pass(contentEnd: Int, boundaryEnd: Int, _ isLast: Bool) {
        handOn(upTo: contentEnd)
        if place == .content { ready.append(.end) }
        place = isLast ? .epilogue : .head
        position = boundaryEnd
        searchStart = boundaryEnd
    }

    // MARK: Head

    /// Takes the head of a part with its blank line; returns `nil` if more bytes are needed.
    private mutating func takeHead() throws(TrellisError) -> HTTPFields? {
        var lineStart = searchStart
        while true {
            let lineFeed = bytes.span.offset(of: 0x0A, from: lineStart)
            let isFound = lineFeed < bytes.count
            guard (isFound ? lineFeed + 1 : lineFeed) - position <= maximumHeadSize else {
                throw .tooLong("the head of a part", limit: maximumHeadSize)
            }
            guard isFound else {
                searchStart = lineStart
                return nil
            }
            let isBlank = lineFeed == lineStart || lineFeed == lineStart + 1 && bytes[lineStart] == 0x0D
            guard isBlank else {
                lineStart = lineFeed + 1
                continue
            }
            let head = bytes[position..<lineStart]
            place = .content
            isAtLineStart = true
            position = lineFeed + 1
            searchStart = position
            return try HTTPFields(partHead: head)
        }
    }
}
