@testable import Trellis

/// Where a value is in a form: its name, `nil` at the top, how many arrays and objects are around it, and how many calls.
struct FormPlace {
    private(set) var name: String?
    private var depth = 0
    private var calls = 0

    /// The top.
    init() {}

    /// One call further in.
    func called() -> FormPlace {
        var place = self
        place.calls += 1
        return place
    }

    /// A value is written here.
    func written() throws -> FormPlace {
        guard calls <= 400 else { throw FormModel.Impossible() }
        return self
    }

    /// An element of an array that is here.
    func element(_ index: Int, _ encoder: URLEncodedFormEncoder) throws -> FormPlace {
        try child(encoder.arrayEncoding.name(name ?? "", index))
    }

    /// A member of an object that is here.
    func member(_ key: String, _ encoder: URLEncodedFormEncoder) throws -> FormPlace {
        guard let name else { return try child(key) }
        return try child(name + encoder.keyPathEncoding.suffix(key))
    }

    private func child(_ name: String) throws -> FormPlace {
        guard depth < 100 else { throw FormModel.Impossible() }
        var place = called()
        place.name = name
        place.depth += 1
        return place
    }
}
