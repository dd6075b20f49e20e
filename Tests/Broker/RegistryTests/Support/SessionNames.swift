import Crypto
import NativeSSO
import PostgresClient
import Testing

/// The names that the tests give to sessions. The database has only digests of them.
enum SessionNames {
    private static let all = [
        "sid-1", "sid-2", "sid-3", "sid-4", "another", "elsewhere", "late", "other", "stranger",
        "no-sid",
        "before", "after", "undated", "meanwhile", "later", "live", "ended, not expired", "expired lately",
        "expired, ended lately",
    ]

    private static let byDigest = Dictionary(
        uniqueKeysWithValues: all.flatMap { name in
            [SessionID(validated: name), SessionID(of: row(name))].map { ($0.digest, name) }
        })

    /// The row of an enrolled session of this name.
    static func row(_ name: String) -> UniqueID {
        let octets = Array(SHA256.hash(data: Array(name.utf8)))
        func half(_ from: Int) -> UInt64 { octets[from..<from + 8].reduce(0) { $0 << 8 | UInt64($1) } }
        return UniqueID(high: half(0), low: half(8))
    }

    /// Of the digests in the first column, in order.
    static func names(_ rows: [Row]) throws -> [String] {
        try rows.map { row in
            let digest = try row.bytes(0)
            return try #require(byDigest[digest], "a name that is not in the list")
        }.sorted()
    }
}

extension PostgresFixture {
    static let selectLiveSIDs = Statement("SELECT sid FROM native_sso.session WHERE ended_at IS NULL")

    /// The names of the live sessions, sorted.
    func liveSIDs() async throws -> [String] { try await SessionNames.names(run(Self.selectLiveSIDs, [])) }
}
