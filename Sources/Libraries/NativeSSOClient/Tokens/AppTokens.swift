public import OAuthWire

/// The tokens of one app at the broker, and how it comes by new ones: refresh, else exchange, else a login.
///
/// At most one request is under way. Whoever asks meanwhile shares its outcome: two refreshes with one token would look
/// like a theft to the broker. The request is not cancelled with whoever asked, because its answer replaces the token.
public actor AppTokens {
    private let endpoint: TokenEndpoint
    private let issuer: String
    private let scope: String?
    private let shared: any Keychain
    private let own: any Keychain
    private let now: @Sendable () -> Int64
    private var current: (token: Credential, refreshAt: Int64)?
    private var renewal: Task<Result<Credential, ClientError>, Never>?

    /// The refresh token's name in the app's own keychain.
    public static let item = "refresh-token"

    /// - Parameters:
    ///   - endpoint: The broker's.
    ///   - issuer: Of the shared login.
    ///   - scope: For exchanges; nil for the client's default.
    ///   - shared: The vendor's keychain, where the login lies.
    ///   - own: This app's keychain, for its refresh token.
    ///   - now: Seconds since 1970.
    public init(
        endpoint: TokenEndpoint, issuer: String, scope: String? = nil, shared: any Keychain, own: any Keychain,
        now: @escaping @Sendable () -> Int64
    ) {
        self.endpoint = endpoint
        self.issuer = issuer
        self.scope = scope
        self.shared = shared
        self.own = own
        self.now = now
    }

    /// A token that is good for a while, renewed if need be.
    ///
    /// - Throws: ``ClientError``; `remedy(after: .exchange)` of it says what to do.
    public func accessToken() async throws(ClientError) -> Credential {
        if let current, now() < current.refreshAt { return current.token }
        return try await renewed()
    }

    /// Forgets `rejected`, which a server answered with 401, and gets another. If it was replaced meanwhile, gives that.
    public func accessToken(insteadOf rejected: Credential) async throws(ClientError) -> Credential {
        if let current, current.token.secret.utf8.elementsEqual(rejected.secret.utf8) { self.current = nil }
        return try await accessToken()
    }

    private func renewed() async throws(ClientError) -> Credential {
        let task = renewal ?? Task { await renew() }
        renewal = task
        return try await task.value.get()
    }

    private func renew() async -> Result<Credential, ClientError> {
        defer { renewal = nil }
        do throws(ClientError) {
            if let tokens = try await refreshed() { return .success(try await keep(tokens)) }
            return .success(try await keep(try await exchanged()))
        } catch {
            return .failure(error)
        }
    }

    /// nil where there is no refresh token, or a dead one.
    private func refreshed() async throws(ClientError) -> TokenSet? {
        guard let token = try await keychain({ try await self.own.item(Self.item) }) else { return nil }
        do throws(ClientError) {
            return try await endpoint.refresh(Credential(String(decoding: token, as: UTF8.self)))
        } catch {
            guard error.remedy(after: .refresh) == .exchangeAgain else { throw error }
            try await keychain { try await self.own.removeItem(Self.item) }
            return nil
        }
    }

    /// The shared login stays where it is even if the exchange is refused: it may be this app that must not use it.
    private func exchanged() async throws(ClientError) -> TokenSet {
        guard let login = try await keychain({ try await SharedLogin.load(from: self.shared) }) else {
            throw .notLoggedIn
        }
        return try await endpoint.exchange(login, issuer: issuer, scope: scope)
    }

    private func keep(_ tokens: TokenSet) async throws(ClientError) -> Credential {
        if let refreshToken = tokens.refreshToken {
            try await keychain { try await self.own.setItem(Self.item, Array(refreshToken.secret.utf8)) }
        }
        let lifetime = max(0, min(tokens.expiresIn ?? 0, 86_400))
        // A tenth early, at most 30 s: the request that carries the token takes its time, too.
        current = (tokens.accessToken, now() + lifetime - min(lifetime / 10, 30))
        return tokens.accessToken
    }

    private func keychain<Value: Sendable>(
        _ work: @Sendable () async throws -> Value
    ) async throws(ClientError) -> Value {
        do {
            return try await work()
        } catch {
            throw .keychain(error)
        }
    }
}
