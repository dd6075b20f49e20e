/// One thing wrong, or doubtful, about the configuration: where, which key, and what to write.
struct ConfigurationProblem: Error, Sendable, Hashable {
    let place: Place
    /// The end of a sentence that begins with the key.
    let message: String
}

/// Where a value stands, or should.
struct Place: Sendable, Hashable {
    enum Origin: Sendable, Hashable {
        /// The file as a whole.
        case file
        /// From 1.
        case line(Int)
        /// An environment variable, by its full name.
        case variable(String)
    }

    let origin: Origin
    /// Its path, such as `tokens.access` or `identity_providers[0].issuer`; empty for the file itself.
    let key: String

    static let file = Place(origin: .file, key: "")
}

/// The configuration does not hold. Everything that is wrong with it, in the order of the file.
struct ConfigurationError: Error, Sendable {
    let file: String
    /// Never empty.
    let problems: [ConfigurationProblem]
}

extension ConfigurationProblem: Comparable {
    /// The file as a whole, then by line, then by variable.
    static func < (a: Self, b: Self) -> Bool { a.rank < b.rank }

    private var rank: (Int, String, String, String) {
        switch place.origin {
        case .file: (0, "", place.key, message)
        case .line(let line): (line, "", place.key, message)
        case .variable(let name): (.max, name, place.key, message)
        }
    }
}
