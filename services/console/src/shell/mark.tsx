/** The logo. */
export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 24 24" aria-hidden="true">
      <rect width="24" height="24" rx="6" fill="var(--accent-fill)" />
      <path
        d="M7 6.5h6.2a4.3 4.3 0 0 1 0 8.6H9.6V18"
        fill="none"
        stroke="#fff"
        strokeWidth="2.2"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
      <circle cx="7" cy="17.9" r="1.25" fill="#fff" />
    </svg>
  );
}
