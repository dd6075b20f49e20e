extension Configuration {
    /// `database`: the PostgreSQL that holds clients, sessions and grants.
    struct Database: Sendable {
        /// For libpq. Holds no password.
        let url: String
        let password: Secret?
        /// Connections, each on a thread of its own, for everything but exchanges and refreshes, which have lanes.
        let pool: Int
    }
}

extension Configuration.Database {
    init?(reading section: Section) {
        let url = section.required(
            "url", example: "postgresql://broker@%2Frun%2Fpostgresql/native_sso", DatabaseURL.init)
        let password = section.value("password_file", SecretFile.read)
        let pool = section.integer("pool", default: 8, in: 1...200)
        guard let url, let pool else { return nil }
        self.init(url: url.string, password: password, pool: pool)
    }
}
