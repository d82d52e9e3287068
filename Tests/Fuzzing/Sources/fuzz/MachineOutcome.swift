import FoundationEssentials

@testable import TrellisCore

/// The elements that a state machine has produced from a body, and the kind of its failure.
struct MachineOutcome<Output> {
    var outputs: [Output] = []
    var failure: TrellisError.Kind?

    init<Machine: IncrementalParser>(_ machine: Machine, _ pieces: [[UInt8]]) where Machine.Output == Output {
        var machine = machine
        do {
            for piece in pieces {
                machine.append(Data(piece))
                while let output = try machine.next() { outputs.append(output) }
            }
            while let output = try machine.finish() { outputs.append(output) }
        } catch {
            failure = (error as? TrellisError)?.kind
        }
    }
}
