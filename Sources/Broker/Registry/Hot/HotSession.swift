public import PostgresClient

extension PostgresConfiguration {
    /// For connections that call `exchange` and `refresh`: what those functions expect of a session.
    ///
    /// They could set it themselves, with `SET` clauses; then the server would set and reset it in every call, at a tenth of
    /// the price of a refresh. So they look at `search_path` and refuse to run under any other, since they act as the owner
    /// of the tables; the rest is for the plans, each of which is made once and must be good for an empty table and a
    /// large one.
    public func forHotCalls() -> PostgresConfiguration {
        var configuration = self
        configuration.sessionSettings.merge(
            [
                "search_path": "native_sso, pg_temp", "enable_seqscan": "off", "enable_hashjoin": "off",
                "enable_mergejoin": "off", "enable_material": "off", "enable_memoize": "off", "jit": "off",
                "plan_cache_mode": "force_generic_plan",
            ]
        ) { $1 }
        return configuration
    }
}
