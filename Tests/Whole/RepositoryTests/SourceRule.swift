import Testing

/// Something that must not stand in a line of code, and why.
struct SourceRule: Sendable, CustomTestStringConvertible {
    enum Scope: Sendable {
        /// What the compiler sees: the line without its comment.
        case code
        case wholeLine
    }

    let name: String
    let reason: String
    let pattern: @Sendable () -> Regex<Substring>
    let scope: Scope
    let appliesTo: @Sendable (_ target: String) -> Bool

    /// - Parameter targets: The targets that it holds for; `nil`: all.
    init(
        _ name: String, because reason: String, in targets: Set<String>? = nil, exceptIn exceptions: Set<String> = [],
        scope: Scope = .code, _ pattern: @escaping @Sendable () -> Regex<Substring>
    ) {
        self.name = name
        self.reason = reason
        self.scope = scope
        self.pattern = pattern
        appliesTo = { target in (targets?.contains(target) ?? true) && !exceptions.contains(target) }
    }

    var testDescription: String { name }

    /// `path:line: name (reason)` for each line that breaks the rule.
    func violations(in files: [RepositoryFile]) -> [String] {
        let (pattern, comment) = (pattern(), Self.comment)
        return files.filter { appliesTo($0.target) }.flatMap { file in
            file.lines.enumerated().compactMap { number, line in
                let examined = scope == .code ? Self.code(of: line, comment) : line
                guard examined.firstMatch(of: pattern) != nil else { return nil }
                return "\(file.path):\(number + 1): \(name) (\(reason))"
            }
        }
    }

    /// The formatter keeps a space before every trailing comment, and block comments are not allowed; so `//` after
    /// anything but a space belongs to an address in a literal.
    static func code(of line: Substring, _ comment: Regex<Substring> = comment) -> Substring {
        guard let comment = line.firstMatch(of: comment) else { return line }
        return line[..<comment.range.lowerBound]
    }

    /// Swift compiles a regex literal each time it evaluates it. Make it once for many lines.
    fileprivate static var comment: Regex<Substring> { /(?:^|\s)\/\/.*$/ }
}
