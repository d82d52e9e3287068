import FoundationEssentials

@testable import Trellis

/// What a machine made of a body, and how it failed.
struct MachineOutcome<Output> {
    var outputs: [Output] = []
    var failure: TrellisError.Kind?

    init<Machine: BodyMachine>(_ machine: Machine, _ pieces: [[UInt8]]) where Machine.Output == Output {
        var machine = machine
        do {
            for piece in pieces {
                machine.append(Data(piece))
                while try add({ try machine.fill(&$0) }) {}
            }
            _ = try add { try machine.finish(&$0) }
        } catch {
            failure = (error as? TrellisError)?.kind
        }
    }

    private mutating func add(_ make: (inout [Output]) throws -> Void) throws -> Bool {
        var batch: [Output] = []
        defer { outputs += batch }
        try make(&batch)
        return !batch.isEmpty
    }
}
