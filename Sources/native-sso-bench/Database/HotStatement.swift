import PostgresClient
import Registry

/// A statement that every grant needs, as the broker sends it and as pgbench does.
enum HotStatement: String, CaseIterable, Sendable {
    /// A repeated exchange.
    case admit
    /// A refresh.
    case advance

    var statement: Statement {
        switch self {
        case .admit: PostgresGrantRegistry.admitting
        case .advance: PostgresGrantRegistry.advancing
        }
    }

    /// - Parameters:
    ///   - row: A number of the population.
    ///   - generation: That its grant has.
    func parameters(_ row: PopulationRow, generation: Int32) -> [PostgresValue] {
        switch self {
        case .admit:
            [
                .uuid(Self.identifier), .text(SampleApps.issuer), .text(row.login.sid), .text(row.login.subject),
                .text(SampleApps.source), .textArray([]), .text(SampleApps.targets[0]), .bool(false),
                .bytes(row.deviceDigest), .text("device-id"), .textArray(Self.scope),
                // Other than in the call before: the same exchange, a moment later, would not go on.
                .textArray([SampleApps.audience, String(generation % 2)]),
                .timestamp(1_700_000_000_000_000), .null, .textArray([]), .int64(2_592_000), .null,
                .int64(7_776_000), .bool(true), .uuid(Self.identifier), .uuid(Self.identifier),
                .bool(false), .null, .null, .null, .null, .null, .null,
            ]
        case .advance:
            [
                .uuid(Self.identifier), .uuid(row.grantID), .int32(generation), .text(SampleApps.targets[0]), .null,
                .textArray(Self.scope), .int64(10), .int64(2_592_000), .int64(0), .bool(false), .null, .null, .null,
                .null,
                .null,
            ]
        }
    }

    /// What the broker says that the call locks.
    func lock(_ row: PopulationRow) -> RowKey {
        switch self {
        case .admit: RowKey(row.deviceDigest)
        case .advance: RowKey(row.grantID)
        }
    }

    /// The same call with the same values; those that differ from row to row are made of `:n`, for pgbench has only numbers.
    var script: String {
        let call =
            switch self {
            case .admit:
                """
                '\(Self.identifierText)', '\(SampleApps.issuer)', \(Population.sid(sql: ":n")), \
                \(Population.subject(sql: ":n")), '\(SampleApps.source)', '{}', '\(SampleApps.targets[0])', false, \
                \(Population.deviceDigest(sql: ":n")), 'device-id', \(Self.scopeText), \
                ARRAY['\(SampleApps.audience)', (:generation % 2)::text], \
                '2023-11-14 22:13:20Z', NULL, '{}', 2592000, NULL, 7776000, true, '\(Self.identifierText)', \
                '\(Self.identifierText)'
                """
            case .advance:
                """
                '\(Self.identifierText)', \(Population.grantID(sql: ":n")), :generation, '\(SampleApps.targets[0])', \
                NULL, \(Self.scopeText), 10, 2592000
                """
            }
        let statement = statement.text.prefix { $0 != "$" }.replacing("\n", with: " ")
        return """
            \\set i (:i + 1) % :rows
            \\set generation CASE WHEN :i = 0 THEN :generation + 1 ELSE :generation END
            \\set n :first + :client_id * :rows + :i
            \(statement)\(call));

            """
    }

    private static let scope = SampleApps.scope.split(separator: " ").map(String.init)
    private static var scopeText: String { "'{\(scope.joined(separator: ","))}'" }
    private static let identifier = Population.grantID(0)
    private static let identifierText = "01900000-0000-7000-a000-000000000000"
}

/// What the statements need of one row, made before anything is measured.
struct PopulationRow: Sendable {
    let login: Login
    let grantID: [UInt8]
    let deviceDigest: [UInt8]

    init(_ number: Int) {
        login = Population.login(number)
        grantID = Population.grantID(number)
        deviceDigest = Population.deviceDigest(number)
    }
}
