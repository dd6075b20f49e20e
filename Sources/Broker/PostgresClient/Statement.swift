/// SQL that is fixed at compile time: a `StaticString` cannot hold anything that came from input.
///
/// Prepared once per connection, on first use. The server infers the types of the parameters.
public struct Statement: Sendable, Hashable {
    let sql: StaticString
    /// Of the text: tells a program's own few statements apart, no more.
    private let digest: UInt64
    /// The name under which a connection prepares it: its digest.
    let name: String

    /// How lanes make many calls of it by one; `nil`: each by itself.
    public let gathering: Gathering?

    public init(_ sql: StaticString, gathering: Gathering? = nil) {
        self.sql = sql
        self.gathering = gathering
        digest = FNV1a.digest(sql.description.utf8)
        name = "s" + String(digest, radix: 36)
    }

    /// The SQL text, for the server and for the test that prepares every statement against the schema.
    public var text: String { sql.description }

    public static func == (a: Statement, b: Statement) -> Bool { a.digest == b.digest }
    public func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}
