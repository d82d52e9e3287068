import FoundationEssentials

@testable import TrellisCore

/// Checks that an encoded form has the pairs of its value, in the same order and with only the allowed characters.
func fuzzForm(_ input: FuzzInput) {
    var choices = input.choices
    let settings = FormSettings(&choices)
    let value = FormValue.form(&choices)
    let written = Result { try settings.encoder.encode(value) }
    let text = try? written.get()
    expect(text == (try? settings.encoder.encode(value)), "another text for the same value")
    let model = try? FormModel.pairs(of: value, settings.encoder)
    expect(
        (text == nil) == (model == nil), "\(written), but in the model \(model?.description ?? "an error"): \(value)")
    guard let text, let model else { return }
    let pairs = FormText(settings).pairs(text)
    expect(pairs != nil, "a character that is not allowed: \(text)")
    expect(pairs == model, "\(pairs ?? []) instead of \(model)")
    checkDictionaries(value, text, settings.encoder)
    for member in value.keys { checkWords(member) }
}

/// Checks dictionaries of another capacity, whose order differs, and dictionaries whose types are only known at run time.
private func checkDictionaries(_ value: FormValue, _ text: String, _ encoder: URLEncodedFormEncoder) {
    if encoder.alphabetizeKeyValuePairs {
        expect((try? encoder.encode(value.reordered)) == text, "another text for an equal dictionary")
    }
    if case .dictionary(let members) = value {
        // The dynamic values need more calls, so that the nesting may exceed the limit.
        let dynamic = try? encoder.encode(DynamicParameters(members.mapValues(\.dynamic)))
        expect(dynamic == nil || dynamic == text, "another text for a dictionary without types")
    }
}

/// Checks that the words of a converted key consist of the key's letters.
private func checkWords(_ key: String) {
    typealias Encoding = URLEncodedFormEncoder.KeyEncoding
    let letters = key.lowercased().unicodeScalars.filter { !"_-".unicodeScalars.contains($0) }
    for encoding in [Encoding.convertToSnakeCase, .convertToKebabCase] {
        let words = encoding.encode(key).unicodeScalars.filter { !"_-".unicodeScalars.contains($0) }
        expect(words.elementsEqual(letters), "other letters")
    }
}
