import OAuthWire
import StrictCoding

extension ProviderConfiguration {
    /// Reads a configuration file:
    ///
    ///     { "port": 9000, "mode": "stamping", "lifetimes": { "id_token": 300 },
    ///       "clients": [ { "client_id": "app-one", "redirect_uris": ["com.example.one:/callback"] } ] }
    ///
    /// Optional: `issuer`, `host`, `mode`, `hash_mode`, `lifetimes` and each of its members, `resources` (each with `audience`
    /// and `scope`), `undotted_redirect_schemes`, a client's `client_secret`, `post_logout_redirect_uris`,
    /// `backchannel_logout_uri` and `requires_consent`.
    package init(file path: String) throws(ProviderError) {
        guard let bytes = try PrivateFile.read(path) else { throw .unreadableFile(path) }
        let file = try ConfigurationFile(path, bytes)
        let root = file.root
        try file.expectMembers(
            of: root,
            [
                "issuer", "host", "port", "mode", "hash_mode", "lifetimes", "clients", "resources",
                "undotted_redirect_schemes",
            ])
        guard let port = root.number("port")?.int64, let port = UInt16(exactly: port) else {
            throw file.malformed("\"port\" is no port number")
        }
        guard let mode = ProviderMode(rawValue: try file.optionalString("mode", of: root) ?? "stamping") else {
            throw file.malformed("\"mode\" is neither \"plain\" nor \"stamping\"")
        }
        guard
            let hash = DeviceSecretHash(
                rawValue: try file.optionalString("hash_mode", of: root) ?? DeviceSecretHash.leftHalf.rawValue)
        else {
            throw file.malformed(
                "\"hash_mode\" is not one of \(DeviceSecretHash.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        let undotted = try file.bool("undotted_redirect_schemes", of: root)
        try self.init(
            issuer: try file.optionalString("issuer", of: root),
            host: try file.optionalString("host", of: root) ?? "127.0.0.1", port: Int(port), mode: mode,
            deviceSecretHash: hash, lifetimes: try Lifetimes(in: file),
            clients: try file.objects("clients", of: root).map { entry throws(ProviderError) in
                try RegisteredClient(entry, in: file, allowsUndottedSchemes: undotted)
            },
            resources: try file.optionalObjects("resources", of: root).map { entry throws(ProviderError) in
                try file.expectMembers(of: entry, ["audience", "scope"])
                return ProtectedResource(
                    audience: try file.string("audience", of: entry), scope: try file.string("scope", of: entry))
            })
    }
}

extension Lifetimes {
    init(in file: ConfigurationFile) throws(ProviderError) {
        self.init()
        guard file.root.contains("lifetimes") else { return }
        guard let entry = file.root.object("lifetimes") else { throw file.malformed("\"lifetimes\" is no object") }
        try file.expectMembers(
            of: entry, ["code", "id_token", "access_token", "refresh_token", "session", "login_page"])
        code = try file.seconds("code", of: entry) ?? code
        idToken = try file.seconds("id_token", of: entry) ?? idToken
        accessToken = try file.seconds("access_token", of: entry) ?? accessToken
        refreshToken = try file.seconds("refresh_token", of: entry) ?? refreshToken
        session = try file.seconds("session", of: entry) ?? session
        loginPage = try file.seconds("login_page", of: entry) ?? loginPage
    }
}

extension RegisteredClient {
    init(
        _ entry: JSONObject, in file: ConfigurationFile, allowsUndottedSchemes: Bool
    ) throws(ProviderError) {
        try file.expectMembers(
            of: entry,
            [
                "client_id", "client_secret", "redirect_uris", "post_logout_redirect_uris", "backchannel_logout_uri",
                "requires_consent",
            ])
        self.init(
            id: try file.string("client_id", of: entry),
            secret: try file.optionalString("client_secret", of: entry).map(Credential.init),
            redirectURIs: try file.strings("redirect_uris", of: entry).map { text throws(ProviderError) in
                guard let uri = RedirectURI(text, allowsUndottedScheme: allowsUndottedSchemes) else {
                    throw file.malformed("unusable redirect URI \"\(text)\"")
                }
                return uri
            },
            postLogoutRedirectURIs: try file.strings("post_logout_redirect_uris", of: entry),
            backChannelLogoutURI: try file.optionalString("backchannel_logout_uri", of: entry),
            requiresConsent: try file.bool("requires_consent", of: entry))
    }
}
