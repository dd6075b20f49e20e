import NativeSSO
import YAML

/// One mapping of the file during reading, with the variables for its keys.
///
/// Reading a key makes it known. The end of the section reports the other keys as unknown. So a key's name, type,
/// default, bounds and help stand once, where the code reads it. The guide's reference comes from them.
final class Section {
    /// Empty for the whole file.
    let path: String
    private let place: Place
    private var entries: [String: ConfigurationDocument.Entry] = [:]
    private var known: Set<String> = []
    /// `nil` inside lists.
    private let variables: Variables?
    let problems: Problems
    /// The number of problems before this section.
    private let earlier: Int

    init(path: String, place: Place, variables: Variables?, problems: Problems) {
        self.path = path
        self.place = place
        self.variables = variables
        self.problems = problems
        earlier = problems.errors.count
    }

    func fill(from document: ConfigurationDocument) {
        guard case .mapping(let entries, _) = document else {
            problems.report(place, "must be a section of keys and values")
            return
        }
        for entry in entries { self.entries[entry.key] = entry }
    }

    // MARK: Problems

    /// Whether every value read so far is valid. Rules about several keys ask first. An invalid value is reported and
    /// replaced by a default, but a configuration with a reported problem is never used.
    var isSound: Bool { problems.errors.count == earlier }
    /// `development` of the file.
    var isDevelopment: Bool { problems.isDevelopment }

    /// The place of a key of this section: where it is given, or else where it belongs.
    func place(of key: String) -> Place {
        let path = path(of: key)
        if let variables, variables.isSet(path) {
            return Place(origin: .variable(Variables.name(of: path)), key: path)
        }
        return Place(origin: entries[key].map { .line($0.line) } ?? place.origin, key: path)
    }

    func report(_ key: String, _ message: String) { problems.report(place(of: key), message) }
    func report(_ place: Place, _ message: String) { problems.report(place, message) }
    func warn(_ key: String, _ message: String) { problems.warn(place(of: key), message) }

    /// Reports a key that has a meaning but no place here.
    func refuse(_ key: String, _ reason: String) {
        known.insert(key)
        if entries[key] != nil { report(key, reason) }
    }

    /// Reports unknown keys.
    /// - Parameter others: Keys that have a meaning and were not read.
    func end(besides others: Set<String> = []) {
        let known = known.union(others)
        for entry in entries.values where !known.contains(entry.key) {
            let suggestion =
                NearestName.of(entry.key, among: known).map { "did you mean \($0)?" }
                ?? "known here: \(known.sorted().joined(separator: ", "))"
            problems.report(place(of: entry.key), "is not a key of \(problems.subject); \(suggestion)")
        }
    }

    // MARK: Parts

    /// Reads ``isDevelopment``.
    func readDevelopment() {
        problems.isDevelopment = flag(
            "development", default: false,
            help: "For a laptop only: allows http and IP addresses in URLs; binds every listener to loopback.")
    }

    /// A section inside this one; empty if it is not given.
    /// - Parameter isOptional: Whether its defaults take effect only if something of it is given.
    func section<Result>(
        _ key: String, isOptional: Bool = false, help: String, _ read: (Section) -> Result
    ) -> Result {
        known.insert(key)
        describe(key, .section, help: help)
        let inner = Section(path: path(of: key), place: place(of: key), variables: variables, problems: problems)
        if let entry = entries[key] { inner.fill(from: entry.value) }
        let result = read(inner)
        inner.end()
        if isOptional, entries[key] == nil { problems.forgetDefaults(of: inner.path) }
        return result
    }

    /// The mappings of a list.
    func sections<Result>(_ key: String, isRequired: Bool = true, help: String, _ read: (Section) -> Result) -> [Result]
    {
        describe(key, .list(.section), isRequired: isRequired, help: help)
        return elements(of: key).map { element, place in
            let inner = Section(path: place.key, place: place, variables: nil, problems: problems)
            inner.fill(from: element)
            let result = read(inner)
            inner.end()
            return result
        }
    }

    /// The valid scalars of a list.
    func values<Value>(
        _ key: String, _ form: KeyDescription.Form, isRequired: Bool = false, help: String,
        _ parse: (String) throws -> Value
    ) -> [Located<Value>] {
        describe(key, .list(form), isRequired: isRequired, help: help)
        return scalars(of: key, parse)
    }

    private func scalars<Value>(of key: String, _ parse: (String) throws -> Value) -> [Located<Value>] {
        elements(of: key).compactMap { element, place in
            guard case .scalar(let scalar, _) = element, !scalar.isNull else {
                problems.report(place, "must be a single value")
                return nil
            }
            return parsed(scalar.text, at: place, parse).map { Located(value: $0, place: place) }
        }
    }

    /// The same for a list that needs an element.
    func values<Value>(
        _ key: String, _ form: KeyDescription.Form, missing: String, empty: String, help: String,
        _ parse: (String) throws -> Value
    ) -> [Located<Value>] {
        if case .sequence(let elements, _)? = entries[key]?.value, elements.isEmpty { report(key, empty) }
        if entries[key] == nil { report(key, missing) }
        return values(key, form, isRequired: true, help: help, parse)
    }

    func scalar(_ key: String) -> Located<ConfigurationDocument.Scalar>? {
        known.insert(key)
        let place = place(of: key)
        let variable = variables?.value(of: path(of: key)).map {
            ConfigurationDocument.scalar(ConfigurationDocument.Scalar(text: $0, isPlain: true), line: 0)
        }
        guard let given = variable ?? entries[key]?.value else { return nil }
        guard case .scalar(let scalar, _) = given else {
            problems.report(place, "must be a single value")
            return nil
        }
        guard !scalar.isNull else {
            problems.report(place, "has no value; write one, or remove it to have the default")
            return nil
        }
        return Located(value: scalar, place: place)
    }

    func parsed<Value>(_ text: String, at place: Place, _ parse: (String) throws -> Value) -> Value? {
        do {
            return try parse(text)
        } catch {
            problems.report(place, (error as? ValueDefect)?.message ?? "\(error)")
            return nil
        }
    }

    /// The text of a scalar in the file. Reports nothing.
    func text(_ key: String) -> Located<String>? {
        guard case .scalar(let scalar, _) = entries[key]?.value, !scalar.isNull else { return nil }
        return Located(value: scalar.text, place: place(of: key))
    }

    /// The texts of a list in the file. Reports nothing.
    func texts(_ key: String) -> [Located<String>] {
        listed(key).compactMap { element, place in
            guard case .scalar(let scalar, _) = element, !scalar.isNull else { return nil }
            return Located(value: scalar.text, place: place)
        }
    }

    /// The texts of one key of each mapping in a list. Reports nothing.
    func texts(_ name: String, ofEach key: String) -> [Located<String>] {
        listed(key).compactMap { element, place in
            let inner = Section(path: place.key, place: place, variables: nil, problems: problems)
            if case .mapping = element { inner.fill(from: element) }
            return inner.text(name)
        }
    }

    /// Whether the key is given, valid or not.
    func isGiven(_ key: String) -> Bool {
        entries[key] != nil || variables?.isSet(path(of: key)) == true
    }

    /// Describes the key for the guide.
    private func describe(
        _ key: String, _ form: KeyDescription.Form, default standard: String? = nil, example: String? = nil,
        isRequired: Bool = false, help: String
    ) {
        problems.keys.append(
            KeyDescription(
                path: path(of: key), form: form, standard: standard, example: example, isRequired: isRequired,
                help: help))
        if problems.settings != nil, let setting = setting(key, form, standard) { problems.settings?.append(setting) }
    }

    /// The value that the key has; `nil` for a section, and without a value.
    private func setting(_ key: String, _ form: KeyDescription.Form, _ standard: String?) -> Setting? {
        switch form {
        case .section, .list(.section): return nil
        default: break
        }
        let path = path(of: key)
        if variables?.isSet(path) == true, let text = variables?.value(of: path) {
            return Setting(key: path, value: .text(text), origin: .variable(Variables.name(of: path)))
        }
        switch entries[key]?.value {
        case .scalar(let scalar, let line): return Setting(key: path, value: .text(scalar.text), origin: .line(line))
        case .sequence(_, let line):
            return Setting(key: path, value: .list(texts(key).map(\.value)), origin: .line(line))
        case .mapping: return nil
        case nil: return standard.map { Setting(key: path, value: .text($0), origin: nil) }
        }
    }

    // MARK: Private

    private func path(of key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    private func elements(of key: String) -> [(element: ConfigurationDocument, place: Place)] {
        known.insert(key)
        switch entries[key]?.value {
        case .sequence, nil: break
        case .scalar, .mapping: report(key, "must be a list")
        }
        return listed(key)
    }

    /// The elements of a list in the file; empty for anything else.
    private func listed(_ key: String) -> [(element: ConfigurationDocument, place: Place)] {
        guard case .sequence(let elements, _) = entries[key]?.value else { return [] }
        return elements.enumerated().map { index, element in
            (element, Place(origin: .line(element.line), key: "\(path(of: key))[\(index)]"))
        }
    }
}

/// A value and its place.
struct Located<Value> {
    let value: Value
    let place: Place
}

extension Section {
    /// `nil` if the key is missing or invalid.
    func value<Value>(
        _ key: String, _ form: KeyDescription.Form, default standard: String? = nil, help: String,
        _ parse: (String) throws -> Value
    ) -> Value? {
        describe(key, form, default: standard, help: help)
        return scalar(key).flatMap { given in
            parsed(given.value.text, at: given.place) { [problems] text in
                try parse(form == .path ? ServiceCredential.path(text, directory: problems.credentials) : text)
            }
        }
    }

    /// What `read` makes of a file that the configuration names. `nil` also if this command does not open it.
    func file<Value>(_ key: String, help: String, _ read: (String) throws -> Value) -> Value? {
        guard problems.opensFiles else {
            describe(key, .path, help: help)
            _ = scalar(key)
            return nil
        }
        return value(key, .path, help: help, read)
    }

    /// The path of a file that `check` accepts. If this command does not open it: the text of the key, unchecked.
    func filePath(_ key: String, help: String, _ check: (String) throws -> String) -> String? {
        guard problems.opensFiles else {
            describe(key, .path, help: help)
            return scalar(key)?.value.text
        }
        return value(key, .path, help: help, check)
    }

    func value<Value>(
        _ key: String, _ form: KeyDescription.Form, defaultText: String, help: String,
        _ parse: (String) throws -> Value
    ) -> Value? {
        let value = value(key, form, default: defaultText, help: help, parse)
        return isGiven(key) ? value : parsed(defaultText, at: place(of: key), parse)
    }

    func required<Value>(
        _ key: String, _ form: KeyDescription.Form, example: String, help: String,
        _ parse: (String) throws -> Value
    ) -> Value? {
        describe(key, form, example: example, isRequired: true, help: help)
        if !isGiven(key) { report(key, "is missing; write it, such as \(example)") }
        return scalar(key).flatMap { parsed($0.value.text, at: $0.place, parse) }
    }

    /// A value or the word `none`, which is `.some(nil)`. `nil` if the key is missing or invalid.
    func valueOrNone<Value>(
        _ key: String, _ form: KeyDescription.Form, help: String, _ parse: (String) throws -> Value
    ) -> Value?? {
        describe(key, .orNone(form), help: help)
        guard let given = scalar(key) else { return nil }
        if isNone(given.value.text) { return .some(nil) }
        // Without the guard, an invalid value would mean that `none` is given.
        guard let value = parsed(given.value.text, at: given.place, parse) else { return nil }
        return .some(value)
    }

    /// The same for a list.
    func valuesOrNone<Value>(
        _ key: String, _ form: KeyDescription.Form, help: String, _ parse: (String) throws -> Value
    ) -> [Value]?? {
        describe(key, .orNone(.list(form)), help: help)
        if let word = text(key), isNone(word.value) {
            known.insert(key)
            return .some(nil)
        }
        // Apart: in one expression, nil would mean that `none` is given.
        guard isGiven(key) else { return nil }
        return .some(scalars(of: key, parse).map(\.value))
    }

    private func isNone(_ text: String) -> Bool { text.utf8.elementsEqual("none".utf8) }

    func duration(
        _ key: String, default standard: Seconds, in bounds: ClosedRange<Seconds>, help: String
    ) -> Seconds {
        value(key, .duration(bounds), default: DurationText.format(standard), help: help) {
            try DurationText.parse($0, in: bounds)
        } ?? standard
    }

    func integer(_ key: String, default standard: Int, in bounds: ClosedRange<Int>, help: String) -> Int {
        value(key, .integer(bounds), default: String(standard), help: help) {
            try IntegerText.parse($0, in: bounds)
        } ?? standard
    }

    /// `true` or `false` and nothing else: `no` and `off` mean different things to different YAMLs.
    func flag(_ key: String, default standard: Bool, help: String) -> Bool {
        describe(key, .flag, default: String(standard), help: help)
        guard let scalar = scalar(key) else { return standard }
        switch (scalar.value.isPlain, scalar.value.text) {
        case (true, "true"): return true
        case (true, "false"): return false
        default:
            report(key, "write true or false, without quotes")
            return standard
        }
    }

    /// A list of identifiers.
    func identifiers<ID: ProtocolIdentifier>(_ key: String, help: String) -> [ID] {
        let rule = "at most \(ID.maximumLength) printable ASCII characters"
        return values(key, .text("an identifier of \(rule)"), help: help) { text in
            guard let id = ID(text) else { throw ValueDefect("write \(rule)") }
            return id
        }.map(\.value)
    }

    /// - Parameter offered: The names that the guide and an error list, if not every case.
    func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ key: String, default standard: Value, offering offered: [Value] = Array(Value.allCases), help: String
    ) -> Value {
        value(key, .choice(offered.map(\.rawValue)), default: standard.rawValue, help: help) {
            try Value.parse($0, offering: offered)
        } ?? standard
    }
}

/// Values that are one of a few names.
extension RawRepresentable<String> where Self: CaseIterable {
    static func parse(_ text: String) throws(ValueDefect) -> Self { try parse(text, offering: Array(allCases)) }

    fileprivate static func parse(_ text: String, offering offered: [Self]) throws(ValueDefect) -> Self {
        guard let value = Self(rawValue: text) else {
            throw ValueDefect("write one of \(offered.map(\.rawValue).joined(separator: ", "))")
        }
        return value
    }
}
