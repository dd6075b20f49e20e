/// A quantity that each round of a figure has. The raw value is its name in the report.
enum Metric: String, CaseIterable, Sendable {
    case perSecond = "per_second"
    case p50 = "latency_p50_ms"
    case p99 = "latency_p99_ms"
    /// Processor time for each request.
    case brokerCPU = "broker_cpu_us"
    case postgresqlCPU = "postgresql_cpu_us"
    /// Of one request, by `openssl speed` or swift-crypto in the same round.
    case cryptography = "raw_cryptography_us"
    case cryptographyRatio = "broker_cpu_to_raw_cryptography"
    case walOctets = "wal_octets"
    /// What a request costs to one at the registry with the fewest sessions, in the same round: broker and PostgreSQL together,
    /// and PostgreSQL alone.
    case cpuRatio = "cpu_to_fewest"
    case postgresqlRatio = "postgresql_cpu_to_fewest"
    case readyAfter = "ready_after_ms"
    case residentKiB = "resident_kib"
    /// Of that, what is not a page of a file: those belong to the program's file, and the system can drop them.
    case ownKiB = "own_kib"
    /// How resident memory grows, in MiB an hour: the regression line through the second half of the samples.
    case residentGrowth = "resident_mib_per_hour"
    /// Octets of session and grant tables, with indexes, for each row: at the end to after the first quarter.
    case tableGrowth = "table_octets_per_row_to_start"
    /// Of one kind of request, or how much longer one takes than another, the slowest twentieth of all left out.
    case meanMicroseconds = "latency_mean_us"
    /// Welch's t of two kinds: of all samples, and without the slowest twentieth.
    case welch = "welch_t"
    case quietWelch = "welch_t_without_slowest"
}
