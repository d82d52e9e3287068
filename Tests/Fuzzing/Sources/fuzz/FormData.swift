import FoundationEssentials
import HTTPTypes

@testable import TrellisCore

/// Checks that an encoded form has the parts of its description, as read by a strict parser and by the framework's own.
func fuzzFormData(_ input: FuzzInput) {
    var choices = input.choices
    let spec = FormDataSpec(&choices, isForm: true)
    let form = spec.form
    let written = write(form)
    expect((written != nil) == spec.isPossible(), "a form where there is none, or none where there is")
    guard let written else { return }
    expect(write(form) == written, "another form the second time")
    expect(length(of: form) == (spec.hasLength ? Int64(written.count) : nil), "another length")
    expect(form.contentType == spec.type, "another type")
    expect(
        (try? MultipartDelimiter(contentType: spec.type))?.match(
            Array("--\(spec.boundary)\r\n".utf8), at: 0, isComplete: false)
            == .line(length: spec.boundary.utf8.count + 4, isLast: false), "another boundary")
    if !spec.holdsBoundary() { check(written, spec, input) }
}

private func write(_ form: MultipartFormData) -> [UInt8]? {
    // The types are read on this thread, because the first form would otherwise wait for another thread to read them.
    _ = MIMETypes.system
    return try? InlineExecutor.run { Array(try await form.encode()) }
}

private func length(of form: MultipartFormData) -> Int64? {
    guard let length = try? form.contentLength() else { return nil }
    return length
}

private func check(_ bytes: [UInt8], _ spec: FormDataSpec, _ input: FuzzInput) {
    let parts: [StrictMultipart.Part]
    do {
        parts = try StrictMultipart.parts(of: bytes, boundary: spec.boundary)
    } catch {
        return expect(false, "\(error)")
    }
    expect(parts.map(\.head) == spec.parts.map { $0.head(isForm: spec.isForm) }, "other heads")
    for (part, expected) in zip(parts, spec.parts) {
        if case .mixed(let inner) = expected.content {
            check(part.content, inner, input)
        } else {
            expect(part.content == expected.content.bytes, "another content")
        }
    }
    checkReader(bytes, spec.boundary, pieces(of: parts), input)
}

private func checkReader(
    _ bytes: [UInt8], _ boundary: String, _ expected: [MultipartParser.Piece], _ input: FuzzInput
) {
    let parser = MultipartParser(MultipartDelimiter(boundary.utf8), maximumHeadSize: 1 << 20, mayStopAnywhere: false)
    let cuts =
        bytes.count < 4096
        ? input.cuts(of: bytes) : [[bytes], [Array(bytes.prefix(999)), Array(bytes.dropFirst(999))]]
    for pieces in cuts {
        let outcome = joined(MachineOutcome(parser, pieces))
        expect(outcome.failure == nil, "the framework's reader fails")
        expect(outcome.pieces == expected, "other parts for the framework's reader")
    }
}

/// The pieces that the framework's parser should produce for the parts.
private func pieces(of parts: [StrictMultipart.Part]) -> [MultipartParser.Piece] {
    parts.flatMap { part -> [MultipartParser.Piece] in
        var head = HTTPFields()
        for line in part.head {
            let sides = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, let name = HTTPField.Name(String(decoding: sides[0], as: UTF8.self)) else {
                continue
            }
            head.append(HTTPField(name: name, value: String(decoding: sides[1], as: UTF8.self)))
        }
        return [.head(head)] + (part.content.isEmpty ? [] : [.bytes(Data(part.content))]) + [.end]
    }
}
