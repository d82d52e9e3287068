import CurlEngine
public import TrellisCore

/// A transport that knows what its test expects, and whether that has happened.
///
/// ``withTransport(_:_:)-(Transport,_)`` and the trait `.trellis(…)` of `TrellisTestTraits` finish such a transport at the end of its
/// test, and make its problems the failures of the test.
public protocol TestTransport: Transport {
    /// Ends the use of the transport: completes what it records, and returns the expectations that were not met.
    ///
    /// - Parameter hasFailed: Whether the test has thrown an error. The absence of later requests is then no problem, because it
    ///   may be a consequence of the error.
    /// - Throws: The error of completing what is recorded, such as a ``CassetteError``.
    func finish(hasFailed: Bool) async throws -> [TestProblem]
}

/// An expectation of a ``TestTransport`` that was not met.
public struct TestProblem: Sendable, Hashable, CustomStringConvertible {
    /// The problem in words, without secrets.
    public let description: String
    /// The place in the test's code that expects something else, if any.
    public let location: CodeLocation?

    /// Creates a problem.
    public init(_ description: String, at location: CodeLocation? = nil) {
        self.description = description
        self.location = location
    }
}

/// The problems of a test, as an error.
public struct TestProblems: Error, Sendable, Hashable, CustomStringConvertible {
    /// The problems, in the order of their discovery.
    public let problems: [TestProblem]

    /// Creates an error.
    public init(_ problems: [TestProblem]) { self.problems = problems }

    /// The problems in words, each with its place in the code.
    public var description: String {
        problems.map { problem in
            problem.location.map { "\($0): \(problem.description)" } ?? problem.description
        }.joined(separator: "\n")
    }
}

/// A place in the code of a test.
public struct CodeLocation: Sendable, Hashable, CustomStringConvertible {
    /// The module and the name of the file: `#fileID`.
    public let fileID: String
    /// The path of the file: `#filePath`.
    public let filePath: String
    /// The line, from 1.
    public let line: Int
    /// The column, from 1.
    public let column: Int

    /// Creates a location, by default the call's.
    public init(
        fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column
    ) {
        self.fileID = fileID
        self.filePath = filePath
        self.line = line
        self.column = column
    }

    /// The name of the file and the line.
    public var description: String { "\(fileID.lastPathComponent):\(line)" }
}
