/// The abuse catalogue: each case with its place.
///
/// The rows of ``Attack`` carry their case ids. All other cases are listed here,
/// with the test that covers them or the reason why no test can.
enum Catalogue {
    enum Place {
        /// A row of the table.
        case row
        /// A test elsewhere: a file below `Tests`, and the name of the function or words of the title.
        case test(file: String, words: String)
        /// A row of a table of refusals in another file, and its text.
        case refusal(file: String, words: String)
        /// The same, but the broker deliberately differs from the catalogue.
        case differs(file: String, words: String, because: String)
        /// The attacked feature does not exist by design.
        case doesNotApply(String)
    }

    struct Case {
        let id: String
        let place: Place
    }

    static let count = 219

    @ListBuilder static var cases: [Case] {
        http
        forms
        clients
        tokens
        claims
        keySets
        devices
        scopesAndTargets
        refreshes
        possession
        races
        enrolment
        logout
        events
        sessions
        operation
        commands
        configuration
    }

    static func rows(_ ids: String...) -> [Case] { ids.map { Case(id: $0, place: .row) } }

    static func test(_ ids: String..., in file: String, _ words: String) -> [Case] {
        ids.map { Case(id: $0, place: .test(file: file, words: words)) }
    }

    static func refusal(_ ids: String..., in file: String, _ words: String) -> [Case] {
        ids.map { Case(id: $0, place: .refusal(file: file, words: words)) }
    }

    static func differs(_ ids: String..., in file: String, _ words: String, because reason: String) -> [Case] {
        ids.map { Case(id: $0, place: .differs(file: file, words: words, because: reason)) }
    }

    static func doesNotApply(_ ids: String..., because reason: String) -> [Case] {
        ids.map { Case(id: $0, place: .doesNotApply(reason)) }
    }
}
