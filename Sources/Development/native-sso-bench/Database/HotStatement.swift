import PostgresClient
import Registry

/// A statement that every grant needs, as the broker sends it and as pgbench does.
enum HotStatement: String, CaseIterable, Sendable {
    /// A repeated exchange.
    case exchange
    /// A refresh.
    case refresh

    var statement: Statement {
        switch self {
        case .exchange: PostgresGrantRegistry.exchanging
        case .refresh: PostgresGrantRegistry.refreshing
        }
    }

    /// - Parameters:
    ///   - row: A number of the population.
    ///   - generation: That its grant has.
    func parameters(_ row: PopulationRow, generation: Int32) -> [PostgresValue] {
        switch self {
        case .exchange:
            [
                .uuid(Self.identifier), .text(SampleApps.issuer), .bytes(row.sidDigest), .text(row.login.subject),
                .text(SampleApps.source), .textArray([]), .timestamp(1_700_000_000_000_000), .null, .textArray([]),
                .timestamp(1_700_000_000_000_000), .text(SampleApps.targets[0]), .bool(false),
                .bytes(row.deviceDigest), .text("device-id"), .textArray(Self.scope),
                // Other than in the call before: the same exchange, a moment later, would not go on.
                .textArray([SampleApps.audience, String(generation % 2)]),
                .null, .bool(false), .bool(true), .int64(2_592_000), .null, .int64(7_776_000),
                .uuid(Self.identifier), .uuid(Self.identifier), .null, .null, .null, .null, .null, .null,
            ]
        case .refresh:
            [
                .uuid(Self.identifier), .uuid(row.grantID), .int32(generation), .text(SampleApps.targets[0]), .null,
                .null, .textArray(Self.scope), .bool(false), .int64(10), .int64(0), .int64(2_592_000),
                .null, .null, .null, .null, .null,
            ]
        }
    }

    /// What the broker says that the call locks.
    func lock(_ row: PopulationRow) -> RowKey {
        switch self {
        case .exchange: RowKey(row.deviceDigest)
        case .refresh: RowKey(row.grantID)
        }
    }

    /// The same call with the same values; those that differ from row to row are made of `:n`, for pgbench has only numbers.
    var script: String {
        let call =
            switch self {
            case .exchange:
                """
                '\(Self.identifierText)', '\(SampleApps.issuer)', \(Population.sidDigest(sql: ":n")), \
                \(Population.subject(sql: ":n")), '\(SampleApps.source)', '{}', '2023-11-14 22:13:20Z', NULL, '{}', \
                '2023-11-14 22:13:20Z', '\(SampleApps.targets[0])', false, \(Population.deviceDigest(sql: ":n")), \
                'device-id', \(Self.scopeText), ARRAY['\(SampleApps.audience)', (:generation % 2)::text], NULL, false, \
                true, 2592000, NULL, 7776000, '\(Self.identifierText)', '\(Self.identifierText)', NULL, NULL
                """
            case .refresh:
                """
                '\(Self.identifierText)', \(Population.grantID(sql: ":n")), :generation, '\(SampleApps.targets[0])', \
                NULL, NULL, \(Self.scopeText), false, 10, 0, 2592000, NULL
                """
            }
        return """
            \\set i (:i + 1) % :rows
            \\set generation CASE WHEN :i = 0 THEN :generation + 1 ELSE :generation END
            \\set n :first + :client_id * :rows + :i
            SELECT native_sso.\(rawValue)(ARRAY[CAST (ROW (\(call)) AS native_sso.\(rawValue)_call)]);

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
    let sidDigest: [UInt8]

    init(_ number: Int) {
        login = Population.login(number)
        grantID = Population.grantID(number)
        deviceDigest = Population.deviceDigest(number)
        sidDigest = Population.sidDigest(number)
    }
}
