/// What Package.swift says of the targets, read from its text: asking SwiftPM would start a second one under the first.
struct PackageManifest: Sendable {
    struct Target: Sendable {
        let name: String
        let isTest: Bool
        /// Of this package. Products of other packages stand in the manifest as `.something`.
        let dependencies: [String]
    }

    let targets: [Target]

    init(text: String) {
        let text = text.replacing(/(?m)(?:^|\s)\/\/.*$/, with: "")
        targets = text.matches(of: /\.(target|executableTarget|testTarget|systemLibrary)\(/).compactMap { match in
            let call = Self.balanced(text[match.range.upperBound...], "(", ")")
            guard let name = call.firstMatch(of: /name: "([^"]+)"/)?.output.1 else { return nil }
            let list = call.firstMatch(of: /dependencies: \[/).map {
                Self.balanced(call[$0.range.upperBound...], "[", "]")
            }
            return Target(
                name: String(name), isTest: match.output.1 == "testTarget",
                dependencies: (list ?? "").matches(of: /"([^"]+)"/).map { String($0.output.1) })
        }
    }

    /// Everything that a target links of this package, itself included.
    func closure(of name: String) -> Set<String> {
        var found: Set = [name]
        var open = [name]
        while let next = open.popLast() {
            let dependencies = targets.first { $0.name == next }?.dependencies ?? []
            open += dependencies.filter { found.insert($0).inserted }
        }
        return found
    }

    /// `text` up to the bracket that closes one which was opened before it.
    private static func balanced(_ text: Substring, _ opening: Character, _ closing: Character) -> Substring {
        var depth = 1
        for index in text.indices {
            if text[index] == opening { depth += 1 }
            if text[index] == closing { depth -= 1 }
            if depth == 0 { return text[..<index] }
        }
        return text
    }
}
