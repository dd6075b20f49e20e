import Glibc
import NativeSSO
import Registry
import StrictCoding

/// A registry file of what is registered. Every setting is written, so that the file says all.
enum RegistryYAML {
    /// - Parameter name: Of the file. What other files manage is left out.
    static func text(_ contents: RegistryContents, name: String) -> String {
        func isOurs(_ item: RegistryContents.Item) -> Bool {
            contents.managers[item].map { $0.utf8.elementsEqual(name.utf8) } ?? true
        }
        var lines = ["name: \(quoted(name))"]
        let clients = contents.clients.filter { isOurs(.client($0.id)) }
        lines += list("clients", clients.map { fields(Record($0)) })
        let groups = contents.groups.filter { isOurs(.group($0.id)) }
        lines += list(
            "groups",
            groups.map { group in
                let members = group.members.filter { isOurs(.member($0.client, group.id)) }
                return fields(["group_id": .text(group.id.string), "issuer": .text(group.issuer.string)])
                    + list("members", members.map { fields(Record($0)) })
            })
        let scopes = contents.scopes.filter { isOurs(.scope($0.name)) }
        lines += list("scopes", scopes.map { fields(Record($0)) })
        return lines.joined(separator: "\n") + "\n"
    }

    private static func list(_ key: String, _ elements: [[String]]) -> [String] {
        guard !elements.isEmpty else { return ["\(key): []"] }
        return ["\(key):"]
            + elements.flatMap { element in
                element.enumerated().map { index, line in (index == 0 ? "  - " : "    ") + line }
            }
    }

    private static func fields(_ record: Record) -> [String] {
        record.fields.map { "\($0.name): \(value($0.value))" }
    }

    private static func value(_ cell: Cell) -> String {
        switch cell {
        case .text(let text): quoted(text)
        case .list(let texts): "[" + texts.map(quoted).joined(separator: ", ") + "]"
        case .number(let number): String(number)
        case .flag(let flag): flag ? "true" : "false"
        case .instant(let instant): quoted(instant.rfc3339)
        case .none: "none"
        }
    }

    /// A JSON string is a YAML string. Unquoted, some words and numbers have another meaning.
    static func quoted(_ text: String) -> String { String(decoding: JSONValue.string(text).octets, as: UTF8.self) }
}

/// Writes a file that does not exist yet: as a whole, or not at all.
enum NewFile {
    static func write(_ text: String, to path: String) throws(CommandFailure) {
        let temporary = "\(path).\(getpid()).part"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure(temporary) }
        defer { unlink(temporary) }
        do {
            defer { close(descriptor) }
            guard descriptor.write(all: Array(text.utf8)), fsync(descriptor) == 0 else { throw failure(temporary) }
        }
        // Unlike a renaming, it replaces no file.
        guard link(temporary, path) == 0 else {
            if errno == EEXIST { throw exists(path) }
            throw failure(path)
        }
    }

    static func exists(_ path: String) -> CommandFailure {
        .refused("\(path) exists already; name another file and compare the two")
    }

    private static func failure(_ path: String) -> CommandFailure {
        .infrastructure("cannot write \(path): \(String(cString: strerror(errno)))")
    }
}
