/// One file of this directory, embedded in the binary so that an operator copies one file.
public struct Migration: Sendable {
    /// The name of the file: `0001_roles.sql`, or `exchange.sql` for a repeatable one.
    public let file: String
    /// The octets of the file, exactly.
    public let sql: [UInt8]

    public init(file: String, sql: [UInt8]) {
        self.file = file
        self.sql = sql
    }

    /// The digits with which the name begins: the file is applied once, in this order, and never edited after a release. `nil`: the
    /// file is repeatable. It is applied after the numbered ones, and again whenever its text has changed.
    public var version: Int? { Int(file.prefix { $0 != "_" }) }

    /// The release that brings this numbered file, from the line `-- Release: ` of its head; `nil`: no such line.
    public var release: String? { head("-- Release: ") }

    /// The line `-- Locks: ` of its head: which tables that brokers use it locks, and for how long; `nil`: none.
    public var locks: String? { head("-- Locks: ") }

    /// The SQL as text.
    public var text: String { String(decoding: sql, as: UTF8.self) }

    private func head(_ start: String) -> String? {
        String(decoding: sql, as: UTF8.self).split(separator: "\n").prefix { $0.hasPrefix("--") }
            .first { $0.hasPrefix(start) }.map { String($0.dropFirst(start.count)) }
    }

    /// The name without number and suffix.
    public var name: String {
        String((version == nil ? file[...] : file.drop { $0 != "_" }.dropFirst()).dropLast(".sql".count))
    }
}

/// Every file of this directory, in the order in which they are applied.
public enum Migrations {
    public static let all: [Migration] =
        // The name sorts digits first. A raw string ends before the last newline of its file.
        embeddedFiles.map { Migration(file: $0.name, sql: Array(($0.text + "\n").utf8)) }
}
