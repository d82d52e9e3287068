import FoundationEssentials
import Testing

@testable import TrellisCore
@testable import TrellisWebSockets

/// The messages that wait for a reader, and the answers to pings that wait for room.
struct WebSocketInboxTests {
    private static func message(_ number: Int) -> WebSocketMessage { .text("\(number)") }

    @Test func readingStopsAtTheMarkAndIsResumedAtHalfOfIt() {
        var inbox = WebSocketInbox(WebSocketOptions(), compression: nil)
        var (isAbove, isBelow): ([Bool], [Bool]) = ([], [])
        for number in 0..<WebSocketInbox.mark.count {
            isAbove.append(inbox.isAboveMark)
            _ = inbox.add(Self.message(number), isOpen: true)
        }
        let isFull = inbox.isAboveMark
        #expect(!isAbove.contains(true) && isFull)
        for _ in 0..<WebSocketInbox.mark.count / 2 {
            isBelow.append(inbox.isBelowLowMark)
            _ = inbox.take()
        }
        let isHalf = inbox.isBelowLowMark
        #expect(!isBelow.contains(true) && isHalf)
    }

    @Test func oneLargeMessageReachesTheMark() {
        var inbox = WebSocketInbox(WebSocketOptions(), compression: nil)
        _ = inbox.add(.binary(Data(count: WebSocketInbox.mark.bytes)), isOpen: true)
        let (isFull, message) = (inbox.isAboveMark, inbox.take())
        let isBelow = inbox.isBelowLowMark
        #expect(isFull && message?.byteCount == WebSocketInbox.mark.bytes && isBelow)
    }

    /// A connection that closes is read for its Close frame. After the first message that finds no room, no other one is kept.
    @Test func messagesAboveTheMarkAreDroppedWhileThisSideCloses() {
        var inbox = WebSocketInbox(WebSocketOptions(), compression: nil)
        for number in 0...WebSocketInbox.mark.count { _ = inbox.add(Self.message(number), isOpen: false) }
        let (hasDropped, first) = (inbox.hasDropped, inbox.take())
        _ = inbox.add(Self.message(-1), isOpen: false)
        var rest: [WebSocketMessage] = []
        while let message = inbox.take() { rest.append(message) }
        #expect(hasDropped && first == Self.message(0))
        #expect(rest == (1..<WebSocketInbox.mark.count).map(Self.message))
    }

    @Test func onlyTheFirstMessageIsTheFirst() {
        var inbox = WebSocketInbox(WebSocketOptions(), compression: nil)
        let isFirst = (0..<3).map { inbox.add(Self.message($0), isOpen: true) }
        #expect(isFirst == [true, false, false])
    }

    @Test func aMessageIsUnreadUntilItsReaderAsksForAnother() {
        var inbox = WebSocketInbox(WebSocketOptions(), compression: nil)
        var unread = [inbox.hasUnread]
        _ = inbox.add(Self.message(0), isOpen: true)
        unread.append(inbox.hasUnread)
        _ = inbox.take()
        unread.append(inbox.hasUnread)
        inbox.isMessageInHands = false
        unread.append(inbox.hasUnread)
        #expect(unread == [false, true, true, false])
    }

    @Test func ofManyPingsTheFirstOnesAndTheLastOneAreAnswered() {
        var answers = WebSocketAnswers()
        for number in 0..<UInt8(40) { answers.add(Data([number])) }
        let limit = UInt8(WebSocketAnswers.limit)
        #expect(answers.payloads == (0..<limit - 1).map { Data([$0]) } + [Data([39])])
        #expect(
            answers.popFirst() == Data([0]) && answers.takeAll().count == Int(limit) - 1 && answers.popFirst() == nil)
    }
}
