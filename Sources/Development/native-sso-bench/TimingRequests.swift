import BrokerHarness
import BrokerTesting
import OAuthWire
import StrictCoding

/// The requests of each kind, all equally long, of many logins, so that no signature is typical of a kind, and each with a device
/// that is known: what differs is what refuses.
struct TimingRequests {
    /// In another group than the others.
    static let foreignApp = "app-xx"
    private static let logins = 256

    /// That bring the known logins in.
    let exchanges: [[UInt8]]
    private let refused: [TimingKind: [[UInt8]]]

    subscript(kind: TimingKind, index: Int) -> [UInt8] {
        let requests = refused[kind] ?? []
        return requests[index % requests.count]
    }

    static func register(in installation: MeasuredInstallation) async throws {
        try await installation.base.command("group", "add", "another", "--issuer", SampleApps.issuer)
        try await installation.register(foreignApp, in: "another")
    }

    init(key: TestKey, at now: Int64) throws {
        /// - Parameter isOld: Whether the id_token is too old to begin a session.
        func request(_ login: Login, isOld: Bool, device: String, client: String) throws -> [UInt8] {
            var claims = login.claims(at: now)
            claims["exp"] = .number(JSONNumber(now + 86_400))
            claims["iat"] = .number(JSONNumber(now - (isOld ? 172_800 : 60)))
            claims["auth_time"] = claims["iat"]
            let form = FormEncoder.encode(
                FuzzMaterial.exchange(
                    Login(sid: login.sid, subject: login.subject, device: device), try key.sign(claims: claims),
                    client: client))
            return TokenRequest.head(bodyLength: form.count) + form
        }
        let app = SampleApps.targets[0]
        let known = (0..<Self.logins).map { _ in Login.new() }
        exchanges = try known.map { try request($0, isOld: false, device: $0.device, client: app) }
        // Each kind of logins of its own, and as many.
        refused = [
            .unknownSession: try known.map {
                let login = Login.new()
                return try request(
                    Login(sid: login.sid, subject: login.subject, device: $0.device), isOld: true,
                    device: $0.device, client: app)
            },
            .wrongDevice: try zip(known, known.dropFirst() + known.prefix(1)).map { login, other in
                try request(login, isOld: true, device: other.device, client: app)
            },
            .foreignGroup: try known.map {
                try request($0, isOld: true, device: $0.device, client: Self.foreignApp)
            },
        ]
    }
}
