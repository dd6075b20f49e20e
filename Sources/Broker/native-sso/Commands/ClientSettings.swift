import ArgumentParser
import BrokerHTTP
import JOSE
import NativeSSO
import Registry
import RegularFiles
import StrictCoding

/// The settings of a client. A new client gets the default of a setting that is not given; an existing one keeps its own.
struct ClientSettings: ParsableArguments {
    @Option(parsing: .upToNextOption, help: "Resource servers of its access tokens: their `aud`.")
    var audience: [String] = []

    @Option(
        parsing: .upToNextOption, help: "Grant types it may use: token-exchange, refresh_token. A new client: both.")
    var grant: [Client.Grant] = []

    @Option(help: ArgumentHelp("The largest scope it may receive.", valueName: "\"scope …\""))
    var allowedScope: Scope?

    @Option(help: ArgumentHelp("The scope of a request that names none.", valueName: "\"scope …\""))
    var defaultScope: Scope?

    @Option(help: ArgumentHelp("Lifetime of its access tokens, from 10s to 24h.", valueName: "5m"))
    var accessTokenLifetime: Seconds?

    @Option(help: ArgumentHelp("Absolute lifetime of its refresh tokens, up to 400d.", valueName: "30d"))
    var refreshTokenLifetime: Seconds?

    @Flag(
        inversion: .prefixedNo,
        help: "Whether an exchange with a device_secret issues a refresh token. A new client: yes.")
    var refreshToken: Bool?

    @Flag(inversion: .prefixedNo, help: "Whether an exchange issues an id_token. A new client: no.")
    var idToken: Bool?

    @Flag(inversion: .prefixedNo, help: "Whether it may exchange its own id_token. A new client: no.")
    var selfExchange: Bool?

    @Option(parsing: .upToNextOption, help: "Accepted `acr` values of a login, the best first. One of them is enough.")
    var minAcr: [String] = []

    @Flag(help: "Accept any `acr`.") var noMinAcr = false

    @Option(help: ArgumentHelp("Greatest age of the login, up to 400d.", valueName: "12h"))
    var maxAuthAge: Seconds?

    @Flag(help: "Accept a login of any age while its session lives.") var noMaxAuthAge = false

    @Option(help: "DPoP proofs of this client. A new client: off.")
    var dpop: Client.ProofPolicy?

    @Option(
        parsing: .upToNextOption,
        help: "Claims of the id_token that its access tokens repeat, such as `email`; at most 8 names and 2 KiB.")
    var claim: [String] = []

    @Flag(help: "Copy no claims.") var noClaim = false

    @Option(
        help: "What `aud` of its client assertions may name. `token_endpoint`: also that URL. A new client: issuer.")
    var assertionAudience: Client.AssertionAudience?

    @Option(help: ArgumentHelp("Longest life of its client assertions, from 10s to 1h.", valueName: "5m"))
    var assertionLifetime: Seconds?

    @Option(
        parsing: .upToNextOption,
        help: "Resource servers whose access tokens it may introspect. Only a confidential client can.")
    var introspects: [String] = []

    @Flag(help: "Let it introspect nothing.") var noIntrospects = false

    @Option(help: "Algorithm that signs its access tokens. It needs an active key.")
    var signingAlgorithm: KeyAlgorithm?

    @Flag(help: "Sign its access tokens with the broker's first algorithm.") var noSigningAlgorithm = false

    @Option(help: "Algorithm that signs its id_tokens, if not that of its access tokens.")
    var idTokenAlgorithm: KeyAlgorithm?

    @Flag(help: "Sign its id_tokens as its access tokens.") var noIdTokenAlgorithm = false

    mutating func validate() throws {
        let given = client(ClientID(validated: "given"), .none)
        if let defect = given.settingDefects.first {
            throw ValidationError("\(defect.setting.option) \(defect.message).")
        }
        if allowedScope != nil, defaultScope != nil, let defect = given.scopeDefect {
            throw ValidationError("\(defect.setting.option) \(defect.message).")
        }
        let both: [(String, Bool)] = [
            ("--introspects or --no-introspects", !introspects.isEmpty && noIntrospects),
            ("--signing-algorithm or --no-signing-algorithm", signingAlgorithm != nil && noSigningAlgorithm),
            ("--id-token-algorithm or --no-id-token-algorithm", idTokenAlgorithm != nil && noIdTokenAlgorithm),
            ("--min-acr or --no-min-acr", !minAcr.isEmpty && noMinAcr),
            ("--max-auth-age or --no-max-auth-age", maxAuthAge != nil && noMaxAuthAge),
            ("--claim or --no-claim", !claim.isEmpty && noClaim),
        ]
        if let contradiction = both.first(where: \.1) {
            throw ValidationError("Give \(contradiction.0), not both.")
        }
    }
}

extension ClientSettings {
    /// A new client with these settings.
    func client(_ id: ClientID, _ authentication: Client.Authentication) -> Client {
        var client = Client(
            id: id, authentication: authentication, allowedScope: .empty, defaultScope: .empty, audiences: audience)
        change(&client)
        return client
    }

    /// Changes the given settings and keeps the others.
    func change(_ client: inout Client) {
        if !grant.isEmpty { client.grants = Set(grant) }
        client.allowedScope = allowedScope ?? client.allowedScope
        client.defaultScope = defaultScope ?? client.defaultScope
        if !audience.isEmpty { client.audiences = audience }
        client.accessTokenLifetime = accessTokenLifetime ?? client.accessTokenLifetime
        client.refreshTokenLifetime = refreshTokenLifetime ?? client.refreshTokenLifetime
        client.issuesRefreshToken = refreshToken ?? client.issuesRefreshToken
        client.issuesIDToken = idToken ?? client.issuesIDToken
        client.allowsSelfExchange = selfExchange ?? client.allowsSelfExchange
        if noMinAcr || !minAcr.isEmpty { client.acceptedContextClasses = minAcr }
        client.maximumAuthenticationAge = noMaxAuthAge ? nil : maxAuthAge ?? client.maximumAuthenticationAge
        client.proofPolicy = dpop ?? client.proofPolicy
        client.assertionAudience = assertionAudience ?? client.assertionAudience
        client.assertionLifetime = assertionLifetime ?? client.assertionLifetime
        if noClaim || !claim.isEmpty { client.copiedClaims = claim }
        if noIntrospects || !introspects.isEmpty { client.introspects = introspects }
        client.accessTokenAlgorithm = noSigningAlgorithm ? nil : signingAlgorithm ?? client.accessTokenAlgorithm
        client.idTokenAlgorithm = noIdTokenAlgorithm ? nil : idTokenAlgorithm ?? client.idTokenAlgorithm
    }
}

extension Client {
    /// Whether it may demand a stronger or newer login than the present one.
    var asksForStepUp: Bool { !acceptedContextClasses.isEmpty || maximumAuthenticationAge != nil }

    /// Warnings about scopes that are allowed, and hardly meant.
    var scopeWarnings: [String] {
        var warnings = allowedScope.tokens.filter { $0.utf8.contains(UInt8(ascii: ",")) }.map {
            "warning: \(id): \($0) is one scope with a comma in its name; write scopes with spaces between them"
        }
        if !allowedScope.contains("openid") {
            warnings.append(
                "warning: \(id): openid is not among its allowed scopes; exchanges with a device_id need it, and apps that ask "
                    + "for it are refused")
        }
        return warnings
    }

    /// A warning for a client whose step-up login would be refused. After that login the client holds its own id_token, and
    /// it needs permission to exchange it.
    ///
    /// - Parameter groups: All sharing groups. Groups without this client do not count.
    func stepUpWarning(_ groups: [SharingGroup]) -> [String] {
        let roles = groups.flatMap(\.members).filter { $0.client == id }.map(\.role)
        guard asksForStepUp, !allowsSelfExchange || !roles.isEmpty && !roles.contains(.both) else { return [] }
        return [
            "warning: \(id): after the login that --min-acr or --max-auth-age sends a user to, the client's own id_token is "
                + "refused; it needs --self-exchange, and the role both in its group"
        ]
    }
}

/// A file with a client's public key: one JWK.
struct ClientKeyFile {
    let registered: ClientKey
    let algorithm: SignatureAlgorithm
    /// RFC 7638.
    private let thumbprint: [UInt8]

    /// A signature algorithm that the broker accepts from clients.
    struct Algorithm: ExpressibleByArgument {
        let signature: SignatureAlgorithm

        static let allValueStrings = AssertionSignature.algorithms.map(\.rawValue).sorted()

        init?(argument: String) {
            guard let own = AssertionSignature.algorithms.first(where: { $0.rawValue.hasSameOctets(as: argument) })
            else { return nil }
            signature = own
        }
    }

    /// - Parameters:
    ///   - kid: For a JWK without one.
    ///   - algorithm: For a JWK without one.
    init(_ path: String, kid: ClientKeyID?, algorithm: SignatureAlgorithm?) throws(CommandFailure) {
        let key = try Self.key(in: path)
        let algorithm = try Self.algorithm(of: key, algorithm, path)
        let id = try Self.id(of: key, kid, path)
        let publicKey: JSONWebKey
        do throws(JSONWebKeyError) {
            publicKey = try JSONWebKey(key.parameters, keyID: id.string, algorithm: algorithm)
        } catch {
            throw .usage("\(path): the key does not fit \(algorithm.rawValue)")
        }
        registered = ClientKey(id: id, publicJWK: String(decoding: publicKey.json.octets, as: UTF8.self))
        self.algorithm = algorithm
        thumbprint = publicKey.thumbprint
    }

    /// Whether it is the same key, even with another `kid` or `alg`.
    func isSameKey(as other: ClientKey) -> Bool {
        guard let json = (try? JSONReader.parse(other.publicJWK.utf8))?.object, let key = try? JSONWebKey(json)
        else { return false }
        return key.thumbprint == thumbprint
    }

    private static func key(in path: String) throws(CommandFailure) -> JSONWebKey {
        let octets: [UInt8]
        do throws(ValueDefect) {
            octets = try RegularFile.contents(path, limit: 64 << 10).octets
        } catch {
            throw .usage("\(path): \(error.message)")
        }
        guard let json = (try? JSONReader.parse(octets))?.object else { throw .usage("\(path): is no JSON object") }
        if json.contains("keys") { throw .usage("\(path): is a set of keys; give one JWK") }
        do throws(JSONWebKeyError) {
            return try JSONWebKey(json)
        } catch .privateKey {
            throw .usage("\(path): holds a private key, which the client keeps for itself; give its public part")
        } catch {
            throw .usage("\(path): is not a public key that can verify an assertion (\(error))")
        }
    }

    private static func algorithm(
        of key: JSONWebKey, _ given: SignatureAlgorithm?, _ path: String
    ) throws(CommandFailure) -> SignatureAlgorithm {
        if let own = key.algorithm {
            guard AssertionSignature.algorithms.contains(own), given ?? own == own else {
                throw .usage("\(path): the key is for \(own.rawValue)")
            }
            return own
        }
        if let given { return given }
        let possible = AssertionSignature.algorithms.filter { key.supports($0) }
        if possible.isEmpty {
            throw .usage("\(path): is no key for any of \(Algorithm.allValueStrings.joined(separator: ", "))")
        }
        guard let only = possible.first, possible.count == 1 else {
            throw .usage("\(path): the JWK has no alg; say with --algorithm which signature the client makes")
        }
        return only
    }

    private static func id(
        of key: JSONWebKey, _ given: ClientKeyID?, _ path: String
    ) throws(CommandFailure) -> ClientKeyID {
        guard let own = key.keyID else {
            if let given { return given }
            return ClientKeyID(validated: Base64URL.encode(key.thumbprint))
        }
        guard let id = ClientKeyID(own) else { throw .usage("\(path): kid is not printable ASCII") }
        guard given ?? id == id else { throw .usage("\(path): the JWK has another kid") }
        return id
    }
}
