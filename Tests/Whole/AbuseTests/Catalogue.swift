/// The whole catalogue of abuse, and where each of its cases is tried.
///
/// The rows of ``Attack`` carry the ids of their cases. What cannot be a row is named here with the test that tries it, or with
/// the reason why nothing can be tried.
enum Catalogue {
    enum Place {
        /// A row of the table.
        case row
        /// A test elsewhere: a file below `Tests`, and the name of the function or words of the title.
        case test(file: String, words: String)
        /// A row of a table of refusals elsewhere, and what it says.
        case refusal(file: String, words: String)
        /// The same, where this broker does something else than the catalogue has it do.
        case differs(file: String, words: String, because: String)
        /// What it is about is not built.
        case waits(String)
        /// What it is about is not how this broker works.
        case doesNotApply(String)
    }

    struct Case {
        let id: String
        let place: Place
    }

    static let count = 210

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

    static func waits(_ ids: String..., for what: String) -> [Case] {
        ids.map { Case(id: $0, place: .waits(what)) }
    }

    static func doesNotApply(_ ids: String..., because reason: String) -> [Case] {
        ids.map { Case(id: $0, place: .doesNotApply(reason)) }
    }
}
