import FoundationEssentials
import TrellisTesting

@testable import TrellisCore

extension IncrementalParser {
    /// Appends the next elements that are complete.
    mutating func fill(_ elements: inout [Output]) throws {
        while let element = try next() { elements.append(element) }
    }
}

/// The elements that a machine produces of a body, and its failure if there is one.
struct MachineRun<Output> {
    var outputs: [Output] = []
    var failure: (any Error)?

    /// The kind of the failure.
    var kind: TrellisError.Kind? { (failure as? TrellisError)?.kind }

    /// Runs a machine in the way of a body's reader.
    init<Machine: IncrementalParser>(_ machine: Machine, _ pieces: [[UInt8]]) where Machine.Output == Output {
        var machine = machine
        do {
            for piece in pieces {
                machine.append(Data(piece))
                try machine.fill(&outputs)
            }
            while let output = try machine.finish() { outputs.append(output) }
        } catch {
            failure = error
        }
    }
}

extension MachineRun {
    /// Runs a machine and decodes its elements, up to the first failure of either.
    init<Machine: IncrementalParser>(_ machine: Machine, _ decoder: ElementDecoder<Output>, _ pieces: [[UInt8]])
    where Machine.Output == RawElement {
        let found = MachineRun<RawElement>(machine, pieces)
        do {
            for element in found.outputs { if let value = try decoder.decode(element) { outputs.append(value) } }
            failure = found.failure
        } catch {
            failure = error
        }
    }
}
