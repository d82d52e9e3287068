import Foundation
import HTTPTypes
import TestSupport

@testable import TrellisCaching
@testable import TrellisCore

/// A difference between the expectations of a case and the results.
struct SuiteDeviation: Sendable {
    /// Whether the case is wrong, not the result: a step that prepares another one deviates.
    let isSetup: Bool
    let text: String
}

/// The performance of a case.
struct SuitePlayer {
    private let steps: [SuiteStep]
    private let world: SuiteWorld

    init(_ run: SuiteRun, _ storage: any CacheStorage = MemoryCacheStorage()) {
        (steps, world) = (run.example.steps, SuiteWorld(run, storage))
    }

    /// Plays the case, and returns the deviations from its expectations.
    func deviations() async throws -> [SuiteDeviation] {
        var deviations: [SuiteDeviation] = []
        for (index, step) in steps.enumerated() {
            let number = index + 1
            let answer = try await world.answer(to: step, number)
            try await world.waitUntilIdle()
            let texts = world.origin.errors(number) + requestErrors(step, number) + errors(answer, step, number)
            let isSetup = step.isSetup || number == 1 && steps.count > 1
            deviations += texts.map { SuiteDeviation(isSetup: isSetup, text: "request \(number): \($0)") }
            world.clock.pass(step.pause)
        }
        return deviations
    }

    // MARK: Requests

    /// Returns the differences between the request that the origin should receive and the one that it has received.
    private func requestErrors(_ step: SuiteStep, _ number: Int) -> [String] {
        let mustBeReceived: Bool
        switch step.outcome {
        case .notCached, .etagValidated, .lastModifiedValidated: mustBeReceived = true
        case .cached, .notUsed, nil:
            mustBeReceived = !step.received.isEmpty || !step.notReceived.isEmpty || step.receivedMethod != nil
        }
        guard let request = world.origin.request(number) else {
            return mustBeReceived ? ["the origin did not receive it"] : []
        }
        var errors = Self.errors(in: request.headers, present: step.received, absent: step.notReceived)
        if let method = step.receivedMethod, method != request.method.rawValue {
            errors.append("the method was \(request.method.rawValue)")
        }
        return errors.map { "at the origin, \($0)" }
    }

    // MARK: Responses

    private func errors(_ answer: SuiteWorld.Answer, _ step: SuiteStep, _ number: Int) -> [String] {
        switch (answer, step.outcome) {
        case (.failure, .notUsed): return []
        case (.failure(let error), _): return ["the call failed: \(error)"]
        case (.response(_, let response), .notUsed):
            return answeredNumber(response) == nil ? [] : ["a stored response was used"]
        case (.response(let data, let response), _):
            return sourceErrors(response, step, number) + fieldErrors(response, step, number)
                + bodyErrors(data, response, step)
        }
    }

    /// Returns the number of the request that the origin made a response for; `nil` if there is none in the response.
    private func answeredNumber(_ response: Response) -> Int? {
        HTTPField.Name(SuiteOrigin.answeredNumber).flatMap { response.headers[$0] }.flatMap { Int($0) }
    }

    /// Returns the differences between the expected source of a response and the source that it has.
    private func sourceErrors(_ response: Response, _ step: SuiteStep, _ number: Int) -> [String] {
        let answered = answeredNumber(response)
        let isOfOrigin = answered == number
        var errors: [String] = []
        switch step.outcome {
        case .cached:
            // A 304 of the cache's own has not all the fields of the stored response.
            let isOwn = answered == nil && response.status == .notModified && world.origin.request(number) == nil
            if isOfOrigin || answered == nil && !isOwn { errors.append("no stored response was used") }
        case .notCached: if !isOfOrigin { errors.append("a stored response was used") }
        case .etagValidated, .lastModifiedValidated, .notUsed, nil: break
        }
        let isNotModified = world.origin.request(number)?.isNotModified ?? false
        let heads = isOfOrigin && !isNotModified ? step.interim : []
        let codes = response.informational.map(\.status.code)
        if codes != heads.map(\.status) { errors.append("the informational heads were \(codes)") }
        for (head, expected) in zip(response.informational, heads) {
            errors += Self.errors(in: head.headers, present: expected.lines, absent: [])
        }
        return errors
    }

    private func fieldErrors(_ response: Response, _ step: SuiteStep, _ number: Int) -> [String] {
        let status = step.expectedStatus ?? step.status
        var errors: [String] = []
        if response.status.code != status { errors.append("the status was \(response.status.code), not \(status)") }
        errors += Self.errors(in: response.headers, present: step.present, absent: step.absent)
        if let age = step.minimumAge, response.headers[.age].flatMap({ Int($0) }) ?? -1 <= age {
            errors.append("Age was \(response.headers[.age] ?? "missing")")
        }
        let first = world.origin.request(1)?.sent ?? HTTPFields()
        errors += difference(response, first, Set(step.kept.compactMap { HTTPField.Name($0) }))
        if answeredNumber(response) == number, let request = world.origin.request(number), !request.isNotModified {
            errors += difference(response, request.sent, Set(request.sent.map(\.name)).subtracting([.date]))
        }
        return errors
    }

    private func difference(_ response: Response, _ sent: HTTPFields, _ names: Set<HTTPField.Name>) -> [String] {
        names.compactMap { name in
            let (value, original) = (SuiteFields.value(name, in: response.headers), SuiteFields.value(name, in: sent))
            return value == original ? nil : "\(name) was \(value ?? "missing"), not \(original ?? "missing")"
        }
    }

    private func bodyErrors(_ data: Data, _ response: Response, _ step: SuiteStep) -> [String] {
        let text = String(decoding: data, as: UTF8.self)
        let isEmpty = step.method == "HEAD" || [204, 304].contains(response.status.code)
        guard step.checksBody, text != (isEmpty ? "" : step.text) else { return [] }
        return ["the body was \"\(text)\""]
    }

    // MARK: Fields

    /// Returns the differences between expected fields and the ones that there are.
    private static func errors(in fields: HTTPFields, present: [String], absent: [String]) -> [String] {
        var errors: [String] = []
        for line in present {
            guard line.contains(":") else {
                let value = HTTPField.Name(line).flatMap { fields[$0] }
                if value == nil { errors.append("\(line) was missing") }
                continue
            }
            guard let field = SuiteFields.field(line, at: SuiteClock.start) else {
                errors.append("\(line) is no field")
                continue
            }
            let value = SuiteFields.value(field.name, in: fields)
            if value != field.value { errors.append("\(field.name) was \(value ?? "missing"), not \(field.value)") }
        }
        for name in absent.compactMap({ HTTPField.Name($0) }) where fields.contains(name) {
            errors.append("\(name) was present")
        }
        return errors
    }
}
