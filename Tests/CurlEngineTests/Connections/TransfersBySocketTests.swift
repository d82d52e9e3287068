import FoundationEssentials
import Testing
import TrellisTesting

@testable import CurlEngine

/// Transfers that wait for input are found by their sockets.
struct TransfersBySocketTests {
    private let engine = CurlEngine(executor: EngineExecutor(), configuration: EngineConfiguration())

    private func transfer(on socket: Int32) throws -> Transfer {
        let now = EngineInstant(nanoseconds: 0)
        let options = try EngineRun.get("http://127.0.0.1/")
        let transfer = Transfer(engine: engine, options: options, now: now)
        let nowhere = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)
        defer { unsafe nowhere.deallocate() }
        let easy = try #require(
            unsafe EasyHandle(
                configuration: EngineConfiguration(), defaultHeaderList: nil, context: nowhere,
                shares: ShareHandles(own: nil, common: nil)))
        easy.socket = socket
        transfer.easy = easy
        return transfer
    }

    @Test(arguments: [5, -1] as [Int32])
    func transferThatWaitsAgainAndAgainIsThereOnce(_ socket: Int32) throws {
        var transfers = TransfersBySocket()
        let transfer = try transfer(on: socket)
        for _ in 0..<1000 { transfers.insert(transfer) }
        #expect(transfers.count == 1)
        transfers.remove(transfer)
        #expect(transfers.count == 0)
    }

    @Test func eachIsFoundByItsSocket() throws {
        var transfers = TransfersBySocket()
        let five = try transfer(on: 5), six = try transfer(on: 6)
        transfers.insert(five)
        transfers.insert(six)
        #expect(transfers.transfer(on: 5) === five)
        #expect(transfers.transfer(on: 6) === six)
        #expect(transfers.transfer(on: 7) == nil)
        transfers.remove(five)
        #expect(transfers.transfer(on: 5) == nil)
        #expect(transfers.count == 1)
    }

    /// The socket of a transfer may become known late, and may change: libcurl names it late, and names another one after a repetition.
    @Test func socketMayBecomeKnownAndChange() throws {
        var transfers = TransfersBySocket()
        let transfer = try transfer(on: -1)
        transfers.insert(transfer)
        #expect(transfers.transfer(on: 5) == nil)
        transfer.easy?.socket = 5
        #expect(transfers.transfer(on: 5) === transfer)
        transfer.easy?.socket = 6
        #expect(transfers.transfer(on: 5) == nil)
        transfers.insert(transfer)
        #expect(transfers.transfer(on: 6) === transfer)
        #expect(transfers.count == 1)
    }

    @Test func transferThatHasEndedIsForgotten() throws {
        var transfers = TransfersBySocket()
        let transfer = try transfer(on: -1)
        transfers.insert(transfer)
        transfer.easy = nil
        #expect(transfers.transfer(on: 5) == nil)
        #expect(transfers.count == 0)
    }
}
