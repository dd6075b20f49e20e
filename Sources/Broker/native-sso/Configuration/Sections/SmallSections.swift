import BrokerHTTP
import JOSE
import Logging
import NativeSSO
import OAuthWire

extension Configuration {
    /// `log`: the log on standard error.
    struct Log: Sendable, Hashable {
        let level: Logger.Level
        /// `nil`: text on a terminal, and JSON elsewhere.
        let format: LogFormat?
    }
}

extension Configuration.Log {
    init(reading section: Section) {
        let levels = Logger.Level.allCases.filter { section.isDevelopment || $0 >= .info }
        level = section.choice(
            "level", default: .info, offering: levels, help: "The least severe events that are logged.")
        format = section.value(
            "format", .choice(LogFormat.allCases.map(\.rawValue)),
            help:
                "`json`: one object a line. `text`: for people. By default `text` on a terminal and `json` elsewhere.",
            LogFormat.parse)
        if level < .info, !section.isDevelopment {
            section.report("level", "\(level) is for development only; write info, notice, warning, error or critical")
        }
    }
}

extension Configuration {
    /// `database`: the PostgreSQL that holds clients, sessions and grants.
    struct Database: Sendable {
        /// For libpq. Holds no password.
        let url: String
        let password: Credential?
        let pool: Int
        /// Where the broker remembers what it knows of the database; `nil`: only in memory. See ``MemoryFile``.
        let stateDirectory: String?
        /// Whether `serve` runs as a role that may change everything.
        let allowsOwner: Bool

        init(reading section: Section) {
            let url = section.required(
                "url", .text("a libpq URL"), example: "postgresql://broker@%2Frun%2Fpostgresql/native_sso",
                help: "The database as libpq writes it, without a password. Other hosts need `sslmode=verify-full`.",
                DatabaseURL.init)
            self.url = url?.string ?? ""
            password = section.file(
                "password_file", help: "The password, on one line. Only its owner may read the file.",
                SecretFile.read)
            pool = section.integer(
                "pool", default: 8, in: 1...200,
                help: "Connections for everything but exchanges and refreshes, which have three of their own.")
            stateDirectory = section.value(
                "state_directory", .path,
                help:
                    "A directory of the broker's own. There it remembers the last number that the database confirmed, "
                    + "so that it also notices at its start that the database has gone back.",
                PathText.absolute)
            allowsOwner = section.flag(
                "allow_owner", default: false,
                help: "Let `serve` connect as a superuser or a member of `native_sso_admin`.")
        }
    }
}

extension RequestLimits {
    /// `limits`: the rate limits. Each broker counts by itself.
    ///
    /// - Parameter tellsCallersApart: See ``Configuration/PublicListener/tellsCallersApart``.
    init(reading section: Section, tellsCallersApart: Bool) {
        func rate(_ key: String, _ standard: RateLimit?, _ help: String) -> RateText? {
            section.value(key, .rate, default: RateText(limit: standard).description, help: help, RateText.parse)
        }
        func limit(_ key: String, _ standard: RateLimit?, _ help: String) -> RateLimit? {
            rate(key, standard, help).map(\.limit) ?? standard
        }
        func addressLimit(_ key: String, _ standard: RateLimit?, _ help: String) -> RateLimit? {
            let rate = rate(key, standard, help)
            if rate?.limit != nil, !tellsCallersApart {
                section.report(
                    key,
                    "counts by address, and behind a proxy on this host everybody has the same one; name the proxy in "
                        + "public.trusted_proxies, or write off")
            }
            return rate.map(\.limit) ?? standard
        }
        self = .standard
        listener = limit("listener", listener, "All requests to the public listener together.")
        address = addressLimit(
            "address", address, "Requests of one IPv4 address, or of the /64 of an IPv6 address.")
        handshakes = limit(
            "handshakes", handshakes, "TLS handshakes of one IPv4 address, or of the /64 of an IPv6 address.")
        network = addressLimit("network", network, "Requests of the /48 of an IPv6 address.")
        client = limit(
            "client", client, "Requests of one app with a genuine token, or of one authenticated client.")
        clientFailures = addressLimit(
            "client_failures", clientFailures, "Failed authentications of one client from one address.")
        session = limit(
            "session", session, "Exchanges of one login by all apps together, and refreshes of one app in it.")
        user = limit("user", user, "Exchanges of all logins of one user.")
        device = limit("device", device, "Exchanges on one device.")
        deviceFailures = limit(
            "device_failures", deviceFailures,
            "Exchanges of one login with a wrong device value, and refused enrolments of one id_token.")
        code = addressLimit("code", code, "Authorization codes from one address.")
        logout = limit(
            "logout", logout,
            "Logout tokens of one identity provider from one address, and unsigned ones from one address.")
    }
}

extension Configuration {
    /// `dpop`: the rules for DPoP proofs. The registration of each client says whether it sends proofs.
    struct DPoP: Sendable, Hashable {
        enum Nonce: String, Sendable, CaseIterable {
            case required
            case off
        }

        let tokenEndpoint: String
        let target: TargetURI
        let nonce: Nonce
        let nonceLifetime: Seconds

        /// - Parameter issuer: The broker's; `nil` if it is invalid.
        init?(reading section: Section, issuer: Issuer?) {
            let standard = issuer.map { $0.withoutTrailingSlash + "/token" } ?? "https://sso.example.com/token"
            let endpoint = section.value(
                "token_endpoint", .url, defaultText: standard,
                help: "The URL of `POST /token` as apps write it in `htu`. By default `issuer` with `/token`."
            ) { text in
                let url = try WebURL(text, allowsLoopbackHTTP: section.isDevelopment)
                guard !url.hasQuery else { throw ValueDefect("must not contain a query (?)") }
                guard let target = TargetURI(text) else { throw ValueDefect("is not the URL of an endpoint") }
                return (text, target)
            }
            nonce = section.choice(
                "nonce", default: .off, help: "`required`: each proof needs a nonce of the broker (RFC 9449 §8).")
            nonceLifetime = section.duration(
                "nonce_lifetime", default: .minutes(5), in: 30 ... .hours(1), help: "How long a nonce is accepted.")
            if section.isSound, section.isGiven("nonce_lifetime"), nonce == .off {
                section.warn("nonce_lifetime", "has no effect: dpop.nonce is off")
            }
            guard let endpoint else { return nil }
            (tokenEndpoint, target) = endpoint
        }
    }
}

extension Configuration {
    /// `sessions`: how long a login on a device may be used.
    struct Sessions: Sendable, Hashable {
        let absolute: Seconds
        let idle: Seconds
        let maximumSubjectTokenAge: Seconds

        /// The bounds of the setting, here and for each issuer.
        static let subjectTokenAges: ClosedRange<Seconds> = 60 ... .days(90)

        init(reading section: Section) {
            let bounds = (section.isDevelopment ? 1 : .hours(1))...Seconds.days(400)
            absolute = section.duration(
                "absolute", default: .days(90), in: bounds, help: "From the beginning of a session to its end.")
            idle = section.duration(
                "idle", default: min(.days(30), absolute), in: bounds,
                help: "The longest time between two uses of a session. The default is never above `absolute`.")
            maximumSubjectTokenAge = section.duration(
                "subject_token_max_age", default: .days(90), in: Self.subjectTokenAges,
                help: "The greatest age of an id_token in an exchange, counted from `iat`.")
            if section.isSound, idle > absolute {
                section.report("idle", "must not be longer than sessions.absolute, \(DurationText.format(absolute))")
            }
        }
    }

    /// `tokens`: the lifetimes of the broker's tokens.
    struct Tokens: Sendable, Hashable {
        let access: Seconds
        let refreshGrace: Seconds
        let unboundRefreshGrace: Seconds

        /// - Parameter sessions: `nil`: nothing is compared with them.
        init(reading section: Section, of sessions: Sessions?) {
            access = section.duration(
                "access", default: .minutes(5), in: 10 ... .hours(24),
                help: "Of an access token. An access token outlives the end of its session by at most this.")
            refreshGrace = section.duration(
                "refresh_grace", default: 60, in: 0 ... .minutes(10),
                help: "How long a refresh may be repeated after a lost answer, by an authenticated client or with DPoP."
            )
            unboundRefreshGrace = section.duration(
                "unbound_refresh_grace", default: 10, in: 0 ... .minutes(5),
                help: "The same for public clients without DPoP.")
            if let sessions, access > sessions.idle {
                section.warn(
                    "access",
                    "is longer than sessions.idle, \(DurationText.format(sessions.idle)): an access token outlives its idle "
                        + "session, and the refresh that follows is refused")
            }
            for (key, value) in [("refresh_grace", refreshGrace), ("unbound_refresh_grace", unboundRefreshGrace)]
            where value == 0 {
                section.warn(
                    key, "0: of two refreshes at once, or where an answer was lost, the login is lost as a theft")
            }
        }
    }
}
